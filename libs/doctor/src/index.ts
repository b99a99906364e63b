export { examine } from './examine.js';
export type { Check, DoctorReport, Examined, ExamineOptions, Finding, Invariant, Progress, Unable } from './report.js';
