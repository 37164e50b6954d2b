import { newId } from '#lib/ids.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { commitmentAddress, commitRound, decodeCommitment } from '#platform/solana/draws/index.ts';
import type { Instruction } from '#platform/solana/primitives.ts';
import type { CarriedTransactions } from '#platform/solana/submission/index.ts';
import { computeBudget, fitsIntoTransaction } from '#platform/solana/transactions.ts';
import { type Draws, readDraws } from '../draws/account.ts';
import { build, type RoundKind, readRound, readRounds } from '../rows.ts';
import { type ClosedRound, isClosed } from './rows.ts';

/** Maximum closed rounds from which the rounds of one transaction are chosen. */
const MAX_CANDIDATES = 1_000;
const ANY_HASH = '00'.repeat(32);

/** Builds the instruction that commits a round with the keys of this service. */
export function commitInstruction(app: App, { program, address }: Draws, roundId: string, leaf: string, beaconRound: number): Instruction {
  const [payer, committer] = [app.chain.key('feePayer').publicKey, app.chain.key('committer').publicKey];
  return commitRound({ program, payer, committer, draws: address, roundId, leaf, beaconRound });
}

/** Number of commitments that fit into one transaction, by the address of the draws account. */
const capacities = perApp(() => new Map<string, number>());

/** Returns the number of commitments that fit into one transaction with its compute budget. */
export function commitmentsPerTransaction(app: App, draws: Draws): number {
  const known = app.state(capacities);
  const key = draws.address.toBase58();
  const found = known.get(key);
  if (found !== undefined) return found;
  const payer = app.chain.key('feePayer').publicKey;
  const instructions = [...computeBudget(1, 1)];
  let fitting = 0;
  for (;;) {
    instructions.push(commitInstruction(app, draws, newId(), ANY_HASH, 1));
    if (!fitsIntoTransaction(payer, instructions)) break;
    fitting++;
  }
  known.set(key, fitting);
  return fitting;
}

const selectCandidates = (kind: RoundKind, except: string) =>
  build
    .selectFrom('rounds')
    .select('id')
    .where('state', '=', 'closing')
    .where('root', 'is not', null)
    .where('kind', '=', kind)
    .where('id', '<>', except)
    .orderBy('closed_at')
    .limit(MAX_CANDIDATES);

/**
 * Returns further closed rounds of the same kind, whose commitments may wait to be signed too, and the number of those that fit into the transaction of
 * a round. So rounds of operators and rounds of wallets never share a transaction.
 */
export async function candidatesFor(app: App, id: string): Promise<{ readonly subjects: readonly string[]; readonly limit: number }> {
  const round = await readRound(app.db, id);
  if (!round) return { subjects: [], limit: 0 };
  const limit = commitmentsPerTransaction(app, await readDraws(app)) - 1;
  return { subjects: (await run(app.db, selectCandidates(round.kind, id))).map((other) => other.id), limit };
}

/** Further rounds that a transaction commits, in the order of their instructions. */
export interface CarriedRounds {
  readonly carries: CarriedTransactions;
  readonly rounds: readonly ClosedRound[];
}

/**
 * Selects the rounds that can be committed now from those that a transaction may carry. The transaction of a round that is left out is composed later,
 * which finds the reason.
 */
export async function carryRounds(app: App, draws: Draws, claimed: CarriedTransactions): Promise<CarriedRounds | null> {
  const found = await readRounds(
    app.db,
    claimed.members.map(({ subject }) => subject),
  );
  const committable = found.flatMap((round) =>
    isClosed(round) && round.state === 'closing' && round.root !== null && round.parameters.draws === draws.address.toBase58() ? [round] : [],
  );
  if (committable.length === 0) return null;
  const addresses = committable.map((round) => commitmentAddress(draws.program, draws.address, round.id));
  const { accounts } = await app.chain.node.accounts(addresses, 'confirmed');
  const rounds = committable.filter((_, i) => decodeCommitment(draws.program, accounts[i] ?? null) === null);
  const members = rounds.flatMap((round) => claimed.members.find(({ subject }) => subject === round.id) ?? []);
  return rounds.length === 0 ? null : { carries: { ...claimed, members }, rounds };
}
