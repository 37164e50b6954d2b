import type { LegacyParameters } from '#lib/draw/parameters.ts';
import { fail } from '#lib/errors.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { frozenColumns } from '../create.ts';
import { roundStarted } from '../events.ts';
import { build, type RoundRow, readRound } from '../rows.ts';
import type { LegacyRoundTerms } from './schemas.ts';

/** Maximum open rounds per wallet. */
const MAX_OPEN = 5;
const DAY_MS = 86_400_000;
const MAX_OPEN_MS = 30 * DAY_MS;

// Makes concurrent requests of one wallet wait for each other, so that the count of the wallet's open rounds is exact.
const lockWallet = statement('lock_wallet_rounds', `select pg_advisory_xact_lock(hashtext('coinop-legacy-rounds'), hashtext($1))`);
const readStart = statement<{ open: number; now: number }>(
  'read_open_rounds_of_wallet',
  `select (select count(*)::int from rounds where created_by = $1 and kind = 'legacy' and state = 'active') as open,
     floor(extract(epoch from app_now()) * 1000)::float8 as now`,
);

/**
 * Opens a legacy round for a wallet and freezes its parameters.
 * @throws 400 when `closesAt` is not within the next 30 days; 409 when the wallet has too many open rounds
 */
export async function openRound(app: App, tx: Tx, wallet: string, { ticketPrice, maxTickets, closesAt }: LegacyRoundTerms): Promise<RoundRow> {
  await tx.query(lockWallet, [wallet]);
  const { open = 0, now = 0 } = (await tx.query(readStart, [wallet]))[0] ?? {};
  if (open >= MAX_OPEN) throw fail(409, `a wallet can have at most ${MAX_OPEN} open rounds; finalize one first`);
  const closes = closesAt === undefined ? now + DAY_MS : Date.parse(closesAt);
  if (!(closes > now && closes <= now + MAX_OPEN_MS)) throw fail(400, 'closesAt must be in the future and at most 30 days ahead');

  const { chain } = app;
  const { leadSec, marginSec } = app.config.chain.draws;
  const parameters: LegacyParameters = {
    version: 1,
    kind: 'legacy',
    round: newId(),
    ticketPrice,
    mint: chain.usdcMint.toBase58(),
    treasury: chain.address('treasury').toBase58(),
    maxTickets: maxTickets ?? null,
    opensAt: new Date(now).toISOString(),
    closesAt: new Date(closes).toISOString(),
    leadSec,
    marginSec,
  };
  const { round, opensAt } = parameters;
  const terms = { created_by: wallet, ticket_price: ticketPrice, max_tickets: maxTickets?.toString() ?? null };
  await run(tx, build.insertInto('rounds').values({ id: round, kind: 'legacy', state: 'active', ...terms, ...frozenColumns(parameters) }));
  tx.emit(roundStarted, { roundId: round, kind: 'legacy', title: null, opensAt, closesAt: parameters.closesAt });
  const row = await readRound(tx, round, 'legacy');
  if (!row) throw new Error(`round ${round} was inserted but cannot be read`);
  return row;
}
