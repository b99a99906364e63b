import { examine, type DoctorReport } from '@baton/doctor';
import type { Platform } from '@baton/testkit';
import { auditOrders, untilWorkersRest } from '../audit/audit.js';
import type { Verdict } from '../audit/judge.js';
import type { OrderOutcome } from '../order-feeder.js';

export interface Conclusion {
  /** What does not agree, by the audit and by the doctor. Empty = all is well. */
  readonly problems: readonly string[];
  readonly figures: Verdict['figures'];
  /** What the doctor has looked at. */
  readonly examined: Readonly<Record<string, unknown>>;
}

type Diagnosis = Pick<DoctorReport, 'ok' | 'findings' | 'unable'> & { readonly examined: object };

/** After the storm: the audit compares Baton with the ledger and the topics, the doctor Baton with itself. */
export async function concludeChaos(platform: Platform, outcomes: readonly OrderOutcome[]): Promise<Conclusion> {
  await untilWorkersRest(platform);
  const { problems, figures } = await auditOrders(platform, outcomes);
  const report = await askDoctor(platform);
  const found = report.findings.map((finding) => `doctor: ${finding.invariant} ${finding.code} ${finding.message}`);
  const unable = report.unable.map(({ what, why }) => `doctor: unable to look at ${what}: ${why}`);
  const isSilent = !report.ok && found.length + unable.length === 0;
  return {
    problems: [...problems, ...found, ...unable, ...(isSilent ? ['doctor: not green, without a reason'] : [])],
    figures,
    examined: { ...report.examined },
  };
}

/** A doctor that cannot look at all is one more problem, not the end of the test: what the audit has found is told too. */
async function askDoctor(platform: Platform): Promise<Diagnosis> {
  const { postgres, kafka } = platform;
  try {
    return await examine({ databaseUrl: postgres.url, brokers: kafka.brokers, full: true });
  } catch (error) {
    return { ok: false, findings: [], examined: {}, unable: [{ what: 'the platform', why: String(error) }] };
  }
}
