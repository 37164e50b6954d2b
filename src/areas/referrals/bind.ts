import { appendActivities, lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { instant, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readCode } from './codes.ts';

/** How far up a chain of referrals is looked for a cycle. */
export const MOST_DEPTH = 10_000;

/** Who referred a wallet, by which code, since when. */
export interface Binding {
  readonly wallet: string;
  readonly referrer: string;
  readonly code: string;
  readonly boundAt: string;
}

const findCode = statement<{ code: string; referrer: string; banned: boolean }>(
  'find_referral_code',
  `select l.code, l.wallet as referrer, p.banned_at is not null as banned
   from referral_links l left join players p on p.wallet = l.wallet where l.code = $1`,
);
const findBinding = statement<{ bound: boolean }>('find_referral', 'select true as bound from referrals where wallet = $1');
// What came before the binding counts only here. Games are few, and so are looked up one by one.
const findVerified = statement<{ verified: boolean }>(
  'find_verified_score',
  `select exists (
     select 1 from game_versions v, lateral (
       select 1 from scores s where s.wallet = $1 and s.game_id = v.game_id and s.game_version = v.version and s.status = 'accepted' limit 1) s
     where v.definition ->> 'verification' <> 'none') as verified`,
);
// One binding at a time in the whole service: whether it closes a cycle depends on all the others.
const lockBindings = statement('lock_referrals', `select pg_advisory_xact_lock(hashtext('coinop-referrals'))`);
// Who has referred nobody cannot be above anybody. One look into the index per step, also where the plan was made while the table was small.
const findAbove = statement<{ cycle: boolean; depth: number }>(
  'find_referrers_above',
  `with recursive above (wallet, depth) as (
     select $2::text collate "C", 0 where exists (select 1 from referrals where referrer = $1)
     union all
     select r.referrer, a.depth + 1 from above a, lateral (
       select referrer::text collate "C" from referrals where wallet = a.wallet offset 0) r
     where a.wallet <> $1 and a.depth < ${MOST_DEPTH})
   select coalesce(bool_or(wallet = $1), false) as cycle, coalesce(max(depth), 0) as depth from above`,
);
const insert = statement<Binding>(
  'insert_referral',
  `insert into referrals (wallet, referrer, code, bound_at, verified_at)
   select $1, $2, $3, t.at, case when $4::bool then t.at end from (select app_now() as at) t
   returning wallet, referrer, code, ${instant('bound_at')} as "boundAt"`,
);

/**
 * Binds a wallet to the owner of a code, once and for good, and appends the activity `bind`: it is the referrer's, caused by the wallet that
 * was bound, so that a referrer's bindings can be counted.
 *
 * The wallet's row is locked before the binding gets its time, as it is before a score gets its own: a score of this wallet was accepted
 * before the binding exactly when its activity is older.
 * @throws 400 own code, 403 the wallet is banned, 404 no such code, 409 bound already, a cycle, or a banned referrer
 */
export async function bindWallet(tx: Tx, wallet: string, text: string): Promise<Binding> {
  const [players, [link], [bound], [history]] = await Promise.all([
    lockPlayers(tx, [wallet]),
    tx.query(findCode, [readCode(text)]),
    tx.query(findBinding, [wallet]),
    tx.query(findVerified, [wallet]),
  ]);
  if (players.get(wallet)?.banned) throw fail(403, 'this wallet is banned');
  if (!link) throw fail(404, 'code must be a referral code that exists');
  const { code, referrer } = link;
  if (referrer === wallet) throw fail(400, 'code must not be one of your own');
  if (bound) throw fail(409, 'this wallet has been referred already');
  if (link.banned) throw fail(409, 'code must not be of a banned wallet');

  const [, [above]] = await Promise.all([tx.query(lockBindings), tx.query(findAbove, [wallet, referrer])]);
  if (above?.cycle) throw fail(409, 'code must not be of a wallet that you referred, directly or through others');
  if (above && above.depth >= MOST_DEPTH) throw fail(409, 'code must not be at the end of so long a chain of referrals');
  const [[binding]] = await Promise.all([
    tx.query(insert, [wallet, referrer, code, history?.verified ?? false]),
    appendActivities(tx, [{ kind: 'bind', sourceId: wallet, wallet: referrer, gameId: null, amount: 0 }]),
  ]);
  if (!binding) throw new Error('a binding was not stored');
  return binding;
}
