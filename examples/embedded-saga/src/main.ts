import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { openDatabase } from './database.js';
import { readSettings } from './settings.js';

async function main(): Promise<void> {
  const settings = readSettings(process.env);
  const database = await openDatabase(settings.databaseUrl, (line) => console.log(line));
  try {
    const app = await NestFactory.create(AppModule.for(settings, database.url), {
      logger: ['log', 'warn', 'error'],
      // When the sagas have drained; a client that keeps a connection open must not keep the process.
      forceCloseConnections: true,
    });
    // Running steps finish or are given back, then the database ends, then the process.
    const stop = async (): Promise<void> => {
      await app.close();
      await database.stop();
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void stop().then(exit, fail));
    await app.listen(settings.port, settings.host);
    console.log(`Orders: POST and GET ${await app.getUrl()}/orders`);
    console.log(`Sagas:  ./baton saga list --database-url ${database.url}`);
  } catch (error) {
    await database.stop();
    throw error;
  }
}

function exit(): never {
  process.exit(0);
}

function fail(error: unknown): never {
  console.error(`embedded-saga: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
}

main().catch(fail);
