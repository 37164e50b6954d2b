import { advanceRound } from '#jobs/rounds.ts';
import type { CommitmentAccount } from '#lib/draw/accounts.ts';
import { roundToCommit } from '#lib/draw/beacon-chain.ts';
import { ttlCache } from '#lib/ttl-cache.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { Tx } from '#platform/db/transaction.ts';
import { COMMITMENT_BYTES, commitmentAddress, decodeCommitment, drawsError } from '#platform/solana/draws/index.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import {
  type CarriedTransactions,
  type ChainError,
  type ComposeOutcome,
  type Priority,
  postponeCarried,
  submit,
  type TransactionDraft,
  type TransactionType,
} from '#platform/solana/submission/index.ts';
import { type Draws, readDraws } from '../draws/account.ts';
import { CLOCK, clockTime } from '../draws/clock.ts';
import { build, readDatabaseClock, readRound } from '../rows.ts';
import { candidatesFor, carryRounds, commitInstruction } from './carry.ts';
import { leafOf } from './commitments.ts';
import { type ClosedRound, isClosed } from './rows.ts';

/** Maximum difference between the cluster's clock and the wall clock when a commitment is signed, ms. */
const MAX_CLOCK_DIFFERENCE_MS = 10_000;
/** Delay before a retry while the account of the commitment is not finalized, ms. */
const PENDING_RETRY_MS = 500;
/** Delay before a retry while the clocks differ, ms. */
const CLOCK_RETRY_MS = 2_000;
/** Delay before a retry after the chain rejected the commitment, ms. */
const REJECTED_RETRY_MS = 15_000;

/** Rent of a commitment account, lamports. The account is never deleted, so each round costs this rent. */
const rent = perApp((app) => ttlCache<'rent', number>(3_600_000, () => app.chain.node.rentOf(COMMITMENT_BYTES)));

/**
 * The transaction type that commits to a round's entries on the chain. The subject of the transaction is the round's id. The attempt of a round also
 * commits other rounds that wait to be committed. The program accepts one commitment per round, so commitments do not wait for each other, and one
 * proof that an attempt expired is enough to sign again with a later beacon round.
 */
export const drawCommitment: TransactionType = {
  name: 'draw-commitment',
  scope: 'rounds',
  priority: 'commitments',
  afterFailure: 'again',
  isGuarded: true,
  maxLive: 3,
  candidatesFor,
  compose,
  simulationFailed: refused,
  finalized: async (tx, landings) =>
    await lookAgain(
      tx,
      landings.map(({ subject }) => subject),
    ),
  failed: async (tx, failures) =>
    await lookAgain(
      tx,
      failures.map(({ subject }) => subject),
    ),
};

/** Any wallet can open legacy rounds, so their commitments rank with claims. */
const priorityOf = ({ kind }: Pick<ClosedRound, 'kind'>): Priority => (kind === 'legacy' ? 'claims' : drawCommitment.priority);

/** Submits the commitment of a round. Of the commitments that rank with claims, those of the wallet with the fewest pending ones come first. */
export async function submitCommitment(tx: Tx, round: Pick<ClosedRound, 'id' | 'kind' | 'createdBy'>): Promise<void> {
  await submit(tx, drawCommitment, [round.id], { caller: round.kind === 'legacy' ? round.createdBy : null, priority: priorityOf(round) });
}

const selectKinds = (ids: readonly string[]) => build.selectFrom('rounds').select(['id', 'kind']).where('id', 'in', ids);

/** Enqueues the next step of rounds whose commitment has ended. */
async function lookAgain(tx: Tx, rounds: readonly string[]): Promise<void> {
  for (const { id, kind } of await run(tx, selectKinds(rounds))) tx.enqueue(advanceRound, { round: id, kind });
}

/** Returns whether composing again removes the reason of a failed simulation: the beacon round is too close, or the account exists already. */
const isPassing = ({ code }: ChainError): boolean => ['TooSoon', 'TooFar', 'AlreadyCommitted'].includes(drawsError(code ?? 0)?.name ?? '');

async function compose(app: App, subject: string, claimed: CarriedTransactions | null = null): Promise<TransactionDraft | ComposeOutcome> {
  const round = await readRound(app.db, subject);
  if (round && round.commitment !== null) return { do: 'done', signature: round.commitment.signature, slot: round.commitment.slot };
  if (!round || !isClosed(round) || round.state !== 'closing' || round.root === null) {
    return { do: 'manual', reason: `round ${subject} cannot be committed: its state is ${round?.state ?? 'unknown'}` };
  }
  const draws = await readDraws(app);
  if (round.parameters.draws !== draws.address.toBase58()) {
    return { do: 'manual', reason: `round ${subject} names the draws account ${round.parameters.draws}, but DRAWS_ADDRESS is ${draws.address}` };
  }
  const address = commitmentAddress(draws.program, draws.address, round.id);
  const { accounts } = await app.chain.node.accounts([address, CLOCK], 'confirmed');
  const [account = null, clock = null] = accounts;
  if (decodeCommitment(draws.program, account)) return await adopt(app, draws, round, address);
  const now = await readDatabaseClock(app.db);
  const difference = Math.abs(clockTime(clock) - now);
  if (difference > MAX_CLOCK_DIFFERENCE_MS) {
    app.log.error({ round: subject, difference }, 'the clock of the cluster differs from the wall clock by more than 10 s; the commitment waits');
    return { do: 'wait', ms: CLOCK_RETRY_MS, reason: `the clock of the cluster differs from the wall clock by ${difference} ms` };
  }
  return await draft(app, draws, round, now, claimed);
}

/**
 * Composes the transaction that commits a round and the further rounds that wait, each to the first beacon round that is published at least its
 * `leadSec` from now. The i-th instruction commits the i-th round.
 */
async function draft(app: App, draws: Draws, round: ClosedRound, now: number, claimed: CarriedTransactions | null): Promise<TransactionDraft> {
  const { period, genesis: genesisTime } = draws.account;
  const carried = claimed === null ? null : await carryRounds(app, draws, claimed);
  const rounds = [round, ...(carried?.rounds ?? [])];
  const rentOfOne = BigInt(await app.state(rent).get('rent'));
  return {
    do: 'sign',
    feePayer: 'feePayer',
    signers: ['committer'],
    instructions: rounds.map((one) =>
      commitInstruction(app, draws, one.id, leafOf(one), roundToCommit({ period, genesisTime }, now, one.parameters.leadSec)),
    ),
    spends: [{ asset: 'sol', amount: rentOfOne * BigInt(rounds.length) }],
    ...(carried ? { carries: carried.carries } : {}),
  };
}

/**
 * Decides how a refused commitment continues. A round is never abandoned: the error is logged for the operators, and the commitment is retried. When
 * the chain refuses a carried round, that round waits and the others are signed again at once.
 */
async function refused(app: App, subject: string, error: ChainError, { carries }: TransactionDraft): Promise<ComposeOutcome> {
  const { instruction, message } = error;
  const carried = instruction === null ? undefined : carries?.members[instruction - 1];
  const ms = isPassing(error) ? PENDING_RETRY_MS : REJECTED_RETRY_MS;
  const round = carried?.subject ?? subject;
  if (!isPassing(error)) app.log.error({ round, error }, 'the chain rejected the commitment of a round; the commitment is retried');
  if (!carries || !carried) return { do: 'wait', ms, reason: message, isRefused: instruction !== null };
  await postponeCarried(app, carries, carried.id, ms, message);
  return { do: 'wait', ms: 0, reason: `the chain refused the commitment of round ${round}, which is left out` };
}

/** Uses the commitment account that exists already, when it is finalized. */
async function adopt(app: App, draws: Draws, round: ClosedRound, address: Address): Promise<ComposeOutcome> {
  const found = decodeCommitment(draws.program, (await app.chain.node.account(address, 'finalized')).account);
  if (found === null) return { do: 'wait', ms: PENDING_RETRY_MS, reason: `the commitment account ${address} is not finalized yet` };
  const mismatch = commitmentMismatch(round, found);
  if (mismatch === null) return { do: 'done', signature: null, slot: found.slot };
  app.log.error({ round: round.id, mismatch }, 'the commitment account of a round differs from the round; an operator must restore its entries');
  return { do: 'manual', reason: mismatch };
}

/** Compares a commitment account with its round. @returns the difference in one sentence, or null */
export function commitmentMismatch(round: ClosedRound, { leaf, draws, round: named }: CommitmentAccount): string | null {
  const own = { round: round.id, draws: round.parameters.draws, leaf: leafOf(round) };
  const found = { round: named, draws, leaf };
  for (const key of ['round', 'draws', 'leaf'] as const) {
    if (own[key] !== found[key]) return `its ${key} is ${found[key]}, but must be ${own[key]}`;
  }
  return null;
}

/** Returns the address of the commitment account of a round. */
export const accountOf = (app: App, round: ClosedRound): Address =>
  commitmentAddress(app.chain.drawsProgramId, parseAddress(round.parameters.draws), round.id);
