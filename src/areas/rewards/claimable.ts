import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { type EpochState, STATE } from './epochs.ts';

/** A reward that a wallet has not claimed. */
export interface Claimable {
  epoch: number;
  amount: string;
  /** Of the leaf. */
  index: number;
  /**
   * `computed`: it can be claimed as soon as the root is on the chain; `committed`: now; `claiming`: a claim is on its way;
   * `settled`: it was settled off-chain.
   */
  status: EpochState | 'claiming';
  expiresAt: string | null;
}

// One look into the index per epoch, also where the plan was made while the table was small. A claim that is confirmed may
// still vanish: then the reward is listed again.
const selecting = (name: string, states: string) =>
  statement<{ total: number } & (Claimable | { epoch: null })>(
    name,
    `with unclaimed as materialized (
       select e.epoch, l.amount::text as amount, l.index, ${instant('e.expires_at')} as "expiresAt",
         case when l.claim in ('queued', 'submitted') and e.state = 'committed' then 'claiming' else ${STATE} end as status
       from epochs e, lateral (
         select l.index, l.amount, c.state as claim from reward_leaves l left join claims c on c.epoch = l.epoch and c.index = l.index
         where l.epoch = e.epoch and l.wallet = $1 and l.amount > 0 and (c.state is null or c.state not in ('confirmed', 'claimed')) offset 0) l
       where e.state in (${states}) and (e.expires_at is null or e.expires_at > app_now()))
     select n.total, u.* from (select count(*)::int as total from unclaimed) n
     left join (select * from unclaimed order by epoch limit $2 offset $3) u on true order by u.epoch`,
  );
const lists = {
  all: selecting('select_claimable', `'computed', 'committed', 'settled'`),
  unsettled: selecting('select_claimable_unsettled', `'computed', 'committed'`),
};

/**
 * A wallet's rewards that it has not claimed and that have not expired, by epoch.
 * @param which whether those are among them that were settled off-chain
 */
export async function listClaimable(
  db: Queryable,
  which: keyof typeof lists,
  wallet: string,
  page: { limit: number; offset: number },
): Promise<{ rewards: Claimable[]; total: number }> {
  const rows = await db.query(lists[which], [wallet, page.limit, page.offset]);
  const rewards = rows.flatMap(({ total: _total, ...reward }) => (reward.epoch === null ? [] : [reward]));
  return { rewards, total: rows[0]?.total ?? 0 };
}
