import { randomUUID } from 'node:crypto';
import { examine, type DoctorReport, type ExamineOptions } from './index.js';
import { PublishedRuns, type Row } from './testing/published.js';

describe('the doctor beside a relay and its topics', () => {
  let published: PublishedRuns;
  let runId: string;
  let rows: readonly Row[];

  beforeEach(async () => {
    published = await PublishedRuns.open();
    [runId] = (await published.run(3)) as [string];
    rows = await published.rows();
  });
  afterEach(() => published?.close());

  const look = (over: Partial<ExamineOptions> = {}): Promise<DoctorReport> => {
    const { url: databaseUrl, brokers, slot } = published;
    return examine({ databaseUrl, brokers, slot, full: true, ...over });
  };
  const said = ({ findings }: DoctorReport): unknown[] =>
    findings.map(({ invariant, code, runId: run }) => ({ invariant, code, runId: run }));

  it('is green when everything that is confirmed is there, once or several times', async () => {
    await published.publish(rows);
    await published.publish(rows);
    await published.confirm();
    const report = await look();
    expect(report).toMatchObject({ ok: true, findings: [], unable: [] });
    expect(report.examined.messages).toBe(2 * rows.length);
  });

  it('is green while the relay is on its way: what it has not confirmed need not be there', async () => {
    await published.publish(rows);
    await published.confirm();
    await published.run(1);
    const later = await published.rows();
    await published.publish(later.slice(rows.length, rows.length + 1));
    expect(await look()).toMatchObject({ ok: true, findings: [] });
  });

  it('I7: MESSAGE_MISSING, a row that the relay has confirmed and that is nowhere', async () => {
    await published.publish(rows, (message, row) => (row.run_id === runId && row.run_seq === '3' ? null : message));
    await published.confirm();
    expect(said(await look())).toEqual([{ invariant: 'I7', code: 'MESSAGE_MISSING', runId }]);
    expect(said(await look({ full: false }))).toEqual([{ invariant: 'I7', code: 'MESSAGE_MISSING', runId }]);
  });

  it('I7: a row that could not be published is dead, and not missing', async () => {
    await published.publish(rows, (message, row) => (row.run_id === runId && row.run_seq === '3' ? null : message));
    await published.confirm();
    await published.query(
      `INSERT INTO baton.outbox_dead (id, run_id, run_seq, topic, reason, row_json)
       SELECT id, run_id, run_seq, topic, 'MESSAGE_TOO_LARGE', '{}' FROM baton.outbox WHERE run_id = $1 AND run_seq = 3`,
      [runId],
    );
    expect(await look()).toMatchObject({ ok: true, findings: [] });
  });

  it('I7: SLOT_MISSING, PUBLICATION_MISSING', async () => {
    await published.publish(rows);
    await published.confirm();
    await published.query('DROP PUBLICATION baton_outbox');
    expect(said(await look())).toEqual([{ invariant: 'I7', code: 'PUBLICATION_MISSING', runId: undefined }]);
    await published.query('CREATE PUBLICATION baton_outbox FOR TABLE baton.outbox');
    await published.query('SELECT pg_drop_replication_slot($1)', [published.slot]);
    expect(said(await look())).toEqual([{ invariant: 'I7', code: 'SLOT_MISSING', runId: undefined }]);
  });

  it('I7: OUTBOX_NOT_PUBLISHED, a row that waits for long', async () => {
    await published.publish(rows);
    await published.confirm();
    const [later] = await published.run(1);
    const codes = new Set((await look({ overdueMs: 1 })).findings.map(({ code, runId: run }) => `${code} ${run}`));
    expect([...codes]).toEqual([`OUTBOX_NOT_PUBLISHED ${later}`]);
  });

  it('I8: MESSAGES_OUT_OF_ORDER, a later message of a run that came first', async () => {
    const events = rows.filter((row) => row.run_id === runId && row.topic.endsWith('.events'));
    const [first, second] = events as [Row, Row];
    const swapped = rows.map((row) => (row === first ? second : row === second ? first : row));
    await published.publish(swapped);
    await published.confirm();
    expect(said(await look())).toEqual([{ invariant: 'I8', code: 'MESSAGES_OUT_OF_ORDER', runId }]);
  });

  it('I8: MESSAGE_UNKNOWN, a message that no row has caused', async () => {
    await published.publish(rows);
    const [stranger] = rows.filter((row) => row.run_id === runId) as [Row];
    await published.publish([{ ...stranger, id: randomUUID(), run_seq: '9' }]);
    await published.confirm();
    expect(said(await look())).toEqual([{ invariant: 'I8', code: 'MESSAGE_UNKNOWN', runId }]);
  });

  it('I8: MESSAGE_DIFFERS, a message with the id of a row and another number', async () => {
    await published.publish(rows, (message, row) =>
      row.run_id === runId && row.run_seq === '4'
        ? { ...message, headers: { ...message.headers, run_seq: '5' } }
        : message,
    );
    await published.confirm();
    expect(said(await look())).toEqual([{ invariant: 'I8', code: 'MESSAGE_DIFFERS', runId }]);
  });

  it('says nothing of what came before the messages that it reads', async () => {
    const events = rows.filter((row) => row.topic.endsWith('.events'));
    await published.publish([...events.toReversed(), ...rows]);
    await published.confirm();
    const report = await look({ full: false, lastMessages: 1 });
    expect(report).toMatchObject({ ok: true, findings: [] });
    expect(report.checks.find(({ name }) => name === 'topics')?.looked).toContain('no order in');
  });

  it('is not green when Kafka cannot be reached, and says why', async () => {
    const report = await look({ brokers: '127.0.0.1:1' });
    expect(report).toMatchObject({ ok: false, findings: [] });
    expect(report.unable.map(({ what }) => what)).toEqual(['the topics']);
    expect(report.checks.find(({ name }) => name === 'topics')?.state).toBe('unable');
  });
});
