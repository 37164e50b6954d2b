import { sql } from 'kysely';
import { instantOf } from '#lib/draw/bytes.ts';
import { NO_ENTRY_RULES, parametersHash, type RoundParameters } from '#lib/draw/parameters.ts';
import type { SignedAnnouncement } from '#lib/draw/statements.ts';
import { newId } from '#lib/ids.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import type { Draws } from './draws/account.ts';
import { announce } from './receipts.ts';
import { build, type RoundRow, readRound } from './rows.ts';
import type { ChatRoundTerms, EntryRuleTerms, PrizeTerms } from './terms.ts';

/** Returns the columns of a round that store the terms. */
export const termColumns = ({ title, picks, range, prizes, durationSec, maxEntriesPerWallet, entryRules }: ChatRoundTerms) => ({
  ...{ title, picks, range, duration_sec: durationSec, max_entries_per_wallet: maxEntriesPerWallet },
  prizes: sql<PrizeTerms[]>`${JSON.stringify(prizes)}`,
  entry_rules: sql<EntryRuleTerms>`${JSON.stringify(entryRules)}`,
});

/** The frozen parameters of a round that opens, their hash, and the signed announcement. */
export interface Opening {
  readonly parameters: RoundParameters;
  readonly parametersHash: string;
  readonly announcement: SignedAnnouncement;
}

/** Freezes the parameters of a round that opens at their `opensAt`. */
export function openingOf(app: App, parameters: RoundParameters): Opening {
  const { draws, round, opensAt } = parameters;
  const hash = parametersHash(parameters);
  return { parameters, parametersHash: hash, announcement: announce(app, { draws, round, parametersHash: hash }, opensAt) };
}

/**
 * Returns the parameters that rounds of both kinds have, without conditions for entries.
 * @param opensAt time of the opening, and `closesAt` latest time of the close, ms since 1970
 */
export function sharedParameters({ config, chain }: Pick<App, 'config' | 'chain'>, draws: Draws, round: string, opensAt: number, closesAt: number) {
  return {
    ...{ version: 2 as const, round, entryRules: NO_ENTRY_RULES, opensAt: instantOf(opensAt), closesAt: instantOf(closesAt) },
    ...config.chain.draws,
    draws: draws.address.toBase58(),
    treasury: chain.address('treasury').toBase58(),
    genesisHash: draws.genesisHash,
  };
}

/** Returns the columns of a round that store its opening. */
export const openedColumns = ({ parameters, parametersHash, announcement }: Opening) => ({
  parameters,
  parameters_hash: parametersHash,
  running_hash: Buffer.from(parametersHash, 'hex'),
  announcement,
  opens_at: parameters.opensAt,
  closes_at: parameters.closesAt,
});

/**
 * Creates a chat round in state `pending`. `startChatRound` opens it for entries. Idempotent per id.
 * @param createdBy admin token's name, or `scheduler`
 * @param id unique id for the new round
 */
export async function createChatRound(tx: Tx, terms: ChatRoundTerms, createdBy: string, id: string = newId()): Promise<RoundRow> {
  const row = { id, kind: 'chat', state: 'pending', created_by: createdBy, ...termColumns(terms) } as const;
  const insert = build
    .insertInto('rounds')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing());
  await run(tx, insert);
  const round = await readRound(tx, id, 'chat');
  if (!round) throw new Error(`round ${id} was inserted but cannot be read`);
  return round;
}
