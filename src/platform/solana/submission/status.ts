import { run } from '#platform/db/query-builder.ts';
import { type Queryable, statement } from '#platform/db/sql.ts';
import { build, isPending, type TransactionRow } from './rows.ts';
import type { TransactionType } from './transaction-type.ts';

/** The state of a transaction. `live`: whether an attempt may still land or has landed. */
export interface SubmissionStatus {
  readonly subject: string;
  readonly state: TransactionRow['state'];
  readonly live: boolean;
}

const selectStatuses = statement<SubmissionStatus>(
  'read_submission_statuses',
  `select t.subject, t.state, t.state = 'finalized' or exists (
     select 1 from chain_attempts a where a.transaction_id = t.id and ${isPending('a')}) as live
   from chain_transactions t where t.kind = $1 and t.subject = any($2::text[])`,
);

/** Returns the state of the transaction of each subject, for one type of transaction. Subjects without a transaction are left out. */
export async function submissionStatuses(
  db: Queryable,
  type: Pick<TransactionType, 'name'>,
  subjects: readonly string[],
): Promise<SubmissionStatus[]> {
  return await db.query(selectStatuses, [type.name, subjects]);
}

/** Returns the state of the transaction of one subject, and the signature that landed; undefined when the subject has no transaction. */
export async function submissionOf(
  db: Queryable,
  type: Pick<TransactionType, 'name'>,
  subject: string,
): Promise<{ state: SubmissionStatus['state']; signature: string | null } | undefined> {
  const select = build.selectFrom('chain_transactions').select(['state', 'signature']);
  return (await run(db, select.where('kind', '=', type.name).where('subject', '=', subject)))[0];
}

const selectSubjects = statement<{ signature: string; subject: string }>(
  'subjects_of_signatures',
  `select a.signature, t.subject from chain_attempts a join chain_transactions t on t.id = a.transaction_id
   where a.signature = any($2::text[]) and t.kind = $1`,
);

/** Returns the subject of each signature that this service created for transactions of the given type. Other signatures are left out. */
export async function subjectsBySignature(
  db: Queryable,
  type: Pick<TransactionType, 'name'>,
  signatures: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db.query(selectSubjects, [type.name, signatures]);
  return new Map(rows.map(({ signature, subject }) => [signature, subject]));
}
