import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readCandidates } from '../chain/candidates.ts';

/** Days before the present day whose epochs are compared. An epoch can be claimed for at most 400 days. */
const MAX_DAYS = 400;
const EPOCHS_PER_READ = 50;

interface RecordedEpoch {
  epoch: number;
  /** State in the database; null when the database has no such epoch. */
  state: string | null;
  root: string | null;
  total: string | null;
  /** Whether the database says that the epoch is open on the chain. */
  opened: boolean;
}
// With `$2` the result also contains days without an epoch, and epochs that the database says are open.
const selectEpochs = statement<RecordedEpoch>(
  'select_epochs_to_explain',
  `select coalesce(e.epoch, d.day) as epoch, e.state, encode(coalesce(a.other_root, e.root), 'hex') as root, coalesce(a.other_total, e.total)::text as total,
     a.opened_at is not null as opened
   from (select day from generate_series(greatest(app_day() - ${MAX_DAYS}, 0), app_day()) as day where $1) d
   full join epochs e on e.epoch = d.day left join epoch_accounts a on a.epoch = e.epoch
   where (e.epoch is null or e.epoch >= (select app_day()) - ${MAX_DAYS} or a.opened_at is not null) and a.closed_at is null and ($1 or a.opened_at is null)
   order by 1`,
);

/**
 * Compares the finalized accounts of epochs on the chain with the database.
 * @param everything also compares days without an epoch in the database, and epochs that the database says are open
 * @returns one sentence per epoch that the database does not explain
 */
export async function findUnexplainedRoots(app: App, everything: boolean): Promise<string[]> {
  const recorded = await app.db.query(selectEpochs, [everything]);
  const problems: string[] = [];
  for (let i = 0; i < recorded.length; i += EPOCHS_PER_READ) {
    const some = recorded.slice(i, i + EPOCHS_PER_READ);
    const found = await readCandidates(
      app,
      'finalized',
      some.map(({ epoch }) => epoch),
    );
    const byEpoch = Map.groupBy(found, ({ addresses }) => addresses.epoch);
    for (const row of some) {
      const accounts = (byEpoch.get(row.epoch) ?? []).map(({ account }) => account);
      if (row.opened && accounts.length === 0) problems.push(`epoch ${row.epoch} is ${row.state} in the database, but has no account on the chain`);
      for (const { state, root, total } of accounts) {
        const problem = state === 'open' ? findProblem(row, root.toString('hex'), total) : null;
        if (problem !== null) problems.push(problem);
      }
    }
  }
  return problems;
}

function findProblem({ epoch, state, root, total }: RecordedEpoch, open: string, openTotal: bigint): string | null {
  const where = `epoch ${epoch} is open on the chain with the root ${open}`;
  if (state === null) return `${where}, but is not in the database`;
  if (state === 'computing') return `${where}, but is still being computed in the database`;
  if (root !== open || total !== String(openTotal)) return `${where}, but has another root in the database`;
  return state === 'settled' ? `${where}, but is settled in the database` : null;
}
