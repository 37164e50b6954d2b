import { appendActivities, lockPlayers } from '#areas/points';
import { fail } from '#lib/errors.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { readCode } from './codes.ts';
import { ReferralsTable } from './entities.ts';
import { referralBound } from './events.ts';
import { hasVerifiedScore } from './verification.ts';

/** Maximum length of a chain of referrers that the check for cycles follows. */
export const MAX_DEPTH = 10_000;

/** A row of `referrals`: the wallet was referred by `referrer` with `code`. `boundAt` is ISO 8601. */
interface ReferralBindingRow {
  readonly wallet: string;
  readonly referrer: string;
  readonly code: string;
  readonly boundAt: string;
}

const build = queryBuilder([ReferralsTable]);
const findCode = statement<{ code: string; referrer: string; banned: boolean }>(
  'find_referral_code',
  `select l.code, l.wallet as referrer, p.banned_at is not null as banned
   from referral_links l left join players p on p.wallet = l.wallet where l.code = $1`,
);

/** Returns whether a code exists and belongs to a wallet that is not banned. */
export async function isUsableCode(db: Queryable, code: string): Promise<boolean> {
  return (await db.query(findCode, [code]))[0]?.banned === false;
}

// A score from before the binding counts too.
const findVerifiedScore = statement<{ verified: boolean }>('find_verified_score', `select ${hasVerifiedScore('$1')} as verified`);
// Serializes all bindings, because a concurrent binding could close a cycle that the check for cycles does not see.
const lockBindings = statement('lock_referrals', `select pg_advisory_xact_lock(hashtext('coinop-referrals'))`);
// If the wallet has referred no other wallet, a cycle is impossible, so the recursion is skipped. `offset 0` forces one index lookup per step, even
// in a plan that PostgreSQL cached while the table was small.
const findAncestors = statement<{ cycle: boolean; depth: number }>(
  'find_referral_ancestors',
  `with recursive ancestors (wallet, depth) as (
     select $2::text collate "C", 0 where exists (select 1 from referrals where referrer = $1)
     union all
     select r.referrer, a.depth + 1 from ancestors a, lateral (
       select referrer::text collate "C" from referrals where wallet = a.wallet offset 0) r
     where a.wallet <> $1 and a.depth < ${MAX_DEPTH})
   select coalesce(bool_or(wallet = $1), false) as cycle, coalesce(max(depth), 0) as depth from ancestors`,
);
const insert = statement<ReferralBindingRow>(
  'insert_referral',
  `insert into referrals (wallet, referrer, code, bound_at, verified_at)
   select $1, $2, $3, t.at, case when $4::bool then t.at end from (select app_now() as at) t
   returning wallet, referrer, code, ${instant('bound_at')} as "boundAt"`,
);

/**
 * Binds a wallet to the owner of a code. A binding is permanent. Appends a `bind` activity for the referrer, so that quests can count bindings.
 *
 * Locks the wallet's row before PostgreSQL sets the time of the binding. The recording of a score takes the same lock before PostgreSQL sets the time
 * of the score. So a score is from before the binding if and only if its activity has an earlier time than the binding.
 * @throws 400 for the wallet's own code; 403 when the wallet is banned; 404 for an unknown code; 409 when the wallet is bound already, the binding
 * would close a cycle, the chain of referrers is too long, or the referrer is banned
 */
export async function bindWallet(tx: Tx, wallet: string, text: string): Promise<ReferralBindingRow> {
  const [players, [link], [bound], [history]] = await Promise.all([
    lockPlayers(tx, [wallet]),
    tx.query(findCode, [readCode(text)]),
    run(tx, build.selectFrom('referrals').select('wallet').where('wallet', '=', wallet)),
    tx.query(findVerifiedScore, [wallet]),
  ]);
  if (players.get(wallet)?.banned) throw fail(403, 'this wallet is banned');
  if (!link) throw fail(404, 'code must be a referral code that exists');
  const { code, referrer } = link;
  if (referrer === wallet) throw fail(400, 'code must not be your own code');
  if (bound) throw fail(409, 'the wallet has been referred already');
  if (link.banned) throw fail(409, 'code must not belong to a banned wallet');

  const [, [ancestors]] = await Promise.all([tx.query(lockBindings), tx.query(findAncestors, [wallet, referrer])]);
  if (ancestors?.cycle) throw fail(409, 'code must not belong to a wallet that you referred, directly or indirectly');
  if (ancestors && ancestors.depth >= MAX_DEPTH) throw fail(409, `code must not belong to a wallet with ${MAX_DEPTH} or more referrers above it`);
  const [[binding]] = await Promise.all([
    tx.query(insert, [wallet, referrer, code, history?.verified ?? false]),
    appendActivities(tx, [{ kind: 'bind', sourceId: wallet, wallet: referrer, gameId: null, amount: 0 }]),
  ]);
  if (!binding) throw new Error('the binding was not stored');
  tx.emitAll(referralBound, [binding, binding], [referrer, wallet]);
  return binding;
}
