import { instant, type Queryable, statement } from '#platform/db/sql.ts';

/** A reward that a wallet has not claimed yet. */
interface Claimable {
  epoch: number;
  amount: string;
  /** Index of the leaf in the Merkle tree. */
  index: number;
  /**
   * `claimable`: the reward can be claimed. `upcoming`: the reward can be claimed as soon as the root is on the chain. `settled`: the epoch is settled
   * off-chain, or its settlement is requested, so the reward cannot be claimed.
   */
  status: 'claimable' | 'upcoming' | 'settled';
  /** Whether a claim is in flight. */
  claiming: boolean;
  expiresAt: string | null;
}

// `offset 0` forces one index lookup per epoch, even when PostgreSQL made the plan while the table was small. The statement excludes rewards whose
// claim is confirmed. If a fork drops the claim, the statement returns the reward again.
const IS_SETTLED = `e.state = 'settled' or e.settle_requested_at is not null`;
const STATUS = `case when ${IS_SETTLED} then 'settled' when e.state = 'committed' then 'claimable' else 'upcoming' end`;
const unclaimedStatement = (name: string, condition: string) =>
  statement<{ total: number } & (Claimable | { epoch: null })>(
    name,
    `with unclaimed as materialized (
       select e.epoch, l.amount::text as amount, l.index, ${instant('e.expires_at')} as "expiresAt",
         ${STATUS} as status, l.claim in ('queued', 'submitted') is true as claiming
       from epochs e, lateral (
         select l.index, l.amount, c.state as claim from reward_leaves l left join claims c on c.epoch = l.epoch and c.index = l.index
         where l.epoch = e.epoch and l.allocation = e.allocation and l.wallet = $1 and l.amount > 0 and (c.state is null or c.state not in ('confirmed', 'claimed')) offset 0) l
       where e.state in ('computed', 'committed', 'settled') and (${condition}) and (e.expires_at is null or e.expires_at > (select app_now())))
     select n.total, u.* from (select count(*)::int as total from unclaimed) n
     left join (select * from unclaimed order by epoch limit $2 offset $3) u on true order by u.epoch`,
  );
const statements = {
  all: unclaimedStatement('select_claimable', 'true'),
  unsettled: unclaimedStatement('select_claimable_unsettled', `not (${IS_SETTLED})`),
};

/**
 * Returns one page of a wallet's unclaimed, unexpired rewards in the order of their epochs, and the total number of these rewards.
 * @param which `all` includes epochs that were settled off-chain; `unsettled` leaves out epochs that were settled off-chain or whose settlement is requested
 */
export async function listClaimable(
  db: Queryable,
  which: keyof typeof statements,
  wallet: string,
  page: { limit: number; offset: number },
): Promise<{ rewards: Claimable[]; total: number }> {
  const rows = await db.query(statements[which], [wallet, page.limit, page.offset]);
  const rewards = rows.flatMap(({ total: _total, ...reward }) => (reward.epoch === null ? [] : [reward]));
  return { rewards, total: rows[0]?.total ?? 0 };
}
