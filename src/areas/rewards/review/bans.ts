import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { pointsOn } from '../epochs/snapshot.ts';

/**
 * SQL condition: whether a wallet with points in the epoch `e` was banned, or a ban was lifted, and the exclusions do not show it yet. Each computation
 * applies all bans, so only bans since shortly before the latest computation are compared.
 */
export const BANS_DIFFER = `(
  exists (select from players p where p.banned_at > e.computed_at - interval '1 hour' and ${pointsOn('e.epoch', 'p.wallet')} > 0
    and not exists (select from reward_exclusions x where x.epoch = e.epoch and x.wallet = p.wallet and x.cause = 'ban' and x.to_allocation is null))
  or exists (select from reward_exclusions x where x.epoch = e.epoch and x.cause = 'ban' and x.to_allocation is null
    and not exists (select from players p where p.wallet = x.wallet and p.banned_at is not null)))`;

const selectBansDiffer = statement<{ differ: boolean }>(
  'select_bans_differ',
  `select e.source = 'computed' and ${BANS_DIFFER} as differ from epochs e where epoch = $1`,
);
/**
 * Refuses to sign the root of an epoch that does not include the present bans.
 * @throws 409 when a wallet of the epoch was banned, or a ban was lifted, since the allocation was computed
 */
export async function refuseOldBans(tx: Tx, epoch: number): Promise<void> {
  if ((await tx.query(selectBansDiffer, [epoch]))[0]?.differ) throw fail(409, `the bans of wallets of epoch ${epoch} changed`);
}
