import { type Queryable, statement } from '#platform/db/sql.ts';
import type { JobDescription } from '#platform/jobs/description.ts';

const selectEpochs = statement<{
  epoch: number;
  state: string;
  source: string;
  allocation: number;
  wallets: number | null;
  leaves: number | null;
  total: string | null;
}>(
  'select_epochs_for_board',
  `select epoch, state, source, allocation::int as allocation, wallets, leaves, total::text as total from epochs where epoch = any($1::int[])`,
);

/** Describes the epochs that jobs compute. */
export async function describeEpochs(db: Queryable, payloads: readonly { epoch: number }[]): Promise<(payload: { epoch: number }) => JobDescription> {
  const rows = await db.query(selectEpochs, [payloads.map(({ epoch }) => epoch)]);
  const byEpoch = new Map(rows.map((row) => [row.epoch, row]));
  return ({ epoch }) => {
    const record = byEpoch.get(epoch);
    const route = record?.state === 'computed' ? 'post /admin/rewards/epoch/{epoch}/release' : 'post /rewards/trigger-epoch';
    return { about: `epoch ${epoch}`, ...(record ? { record } : {}), route };
  };
}
