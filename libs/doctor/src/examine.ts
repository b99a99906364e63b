import type { DoctorReport, ExamineOptions } from './report.js';

/** Looks for broken invariants. Rejects when the database cannot be reached. */
export function examine(options: ExamineOptions): Promise<DoctorReport> {
  return Promise.reject(new Error(`nothing looks at ${new URL(options.databaseUrl).pathname} yet`));
}
