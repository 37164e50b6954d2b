import type { Currency } from '#areas/payouts';
import type { ChatParameters } from '#lib/draw/parameters.ts';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Queryable } from '#platform/db/sql.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { openedColumns, openingOf, sharedParameters } from './create.ts';
import { type Draws, readDraws } from './draws/account.ts';
import { frozenRules } from './entry-rules.ts';
import { roundStarted } from './events.ts';
import { build, type RoundRow, readDatabaseClock, readRound } from './rows.ts';
import { ChatRoundTerms } from './terms.ts';
import { lockTreasury, mintOf, type OutflowMarker, readHoldings, readObligations, readOutflowMarker } from './treasury.ts';

const findChatRound = build.selectFrom('rounds').select('id').where('kind', '=', 'chat');

/**
 * Starts a chat round: freezes its parameters, reserves its prizes, and opens it for entries for `durationSec` seconds.
 * @throws 404 when the round does not exist; 409 when the round is not pending, another round is active, or the treasury does not hold the prizes;
 * 503 when the RPC node does not answer, or the draws account does not match the configuration
 */
export async function startChatRound(app: App, id: string): Promise<RoundRow> {
  await requireStartable(app.db, id);
  const draws = await readDraws(app);
  const marker = await readOutflowMarker(app);
  const holdings = await readHoldings(app);
  return await app.tx(async (tx) => {
    await lockTreasury(tx);
    await run(tx, findChatRound.where('id', '=', id).forUpdate());
    const terms = ChatRoundTerms.parse(termsOf(await requireStartable(tx, id)));
    await requireFunds(app, tx, terms, holdings, marker);
    const opening = openingOf(app, parametersOf(app, draws, id, terms, await readDatabaseClock(tx)));
    const { opensAt, closesAt } = opening.parameters;
    const opened = { ...openedColumns(opening), state: 'active', look_at: closesAt } as const;
    await run(tx, build.updateTable('rounds').set(opened).where('id', '=', id).where('state', '=', 'pending'));
    tx.emit(roundStarted, { roundId: id, kind: 'chat', title: terms.title, opensAt, closesAt, ...opening });
    return await requireRound(tx, id);
  });
}

async function requireRound(db: Queryable, id: string): Promise<RoundRow> {
  const round = await readRound(db, id, 'chat');
  if (!round) throw fail(404, 'there is no chat round with this id');
  return round;
}

async function requireStartable(db: Queryable, id: string): Promise<RoundRow> {
  const round = await requireRound(db, id);
  if (round.state !== 'pending') throw fail(409, `the round is ${round.state}; only a pending round can be started`);
  const [active] = await run(db, findChatRound.where('state', '=', 'active'));
  if (active) throw fail(409, `round ${active.id} is active; only one chat round can be active at a time`);
  return round;
}

const termsOf = ({ title, picks, range, prizes, durationSec, maxEntriesPerWallet, entryRules }: RoundRow) => ({
  ...{ title, picks, range, prizes, durationSec, maxEntriesPerWallet, entryRules },
});

async function requireFunds(
  app: App,
  tx: Tx,
  { prizes }: ChatRoundTerms,
  holdings: Readonly<Record<Currency, bigint>>,
  marker: OutflowMarker,
): Promise<void> {
  for (const currency of new Set(prizes.map(({ mint }) => mint))) {
    const needed = prizes.reduce((sum, { amount, mint }) => (mint === currency ? sum + BigInt(amount) : sum), 0n);
    const obligations = await readObligations(app, tx, currency, marker);
    const free = holdings[currency] - obligations;
    if (free < needed) {
      const available = free > 0n ? free : 0n;
      throw fail(409, `the prizes need ${needed} base units of ${currency}; the treasury has ${available} base units that are not reserved or owed`);
    }
  }
}

/**
 * Returns the parameters of a chat round that opens now.
 * @param now current time, ms since 1970
 */
function parametersOf(app: App, draws: Draws, round: string, terms: ChatRoundTerms, now: number): ChatParameters {
  const { picks, range, maxEntriesPerWallet, durationSec, prizes, entryRules } = terms;
  return {
    ...{ kind: 'chat', picks, range, maxEntriesPerWallet },
    prizes: prizes.map(({ amount, mint }, i) => ({ place: i + 1, amount, mint: mintOf(app, mint).toBase58() })),
    ...sharedParameters(app, draws, round, now, now + durationSec * 1_000),
    entryRules: frozenRules(app, entryRules),
  };
}
