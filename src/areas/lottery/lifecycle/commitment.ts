import { advanceRound } from '#jobs/rounds.ts';
import { roundToCommit } from '#lib/draw/beacon-chain.ts';
import { type Commitment, commitmentMemo, parseMemo } from '#lib/draw/commitment.ts';
import type { App } from '#platform/app.ts';
import { beaconOf } from '#platform/solana/beacon/index.ts';
import type { ComposeOutcome, TransactionDraft, TransactionType } from '#platform/solana/submission/index.ts';
import { memo } from '#platform/solana/tokens.ts';
import { type RoundRow, readDatabaseClock, readRound } from '../rows.ts';
import { commitmentsSince } from './chain.ts';
import { isOpened, type OpenedRound } from './rows.ts';
import { assignPosition, readNewestPositions, readPosition } from './sequence.ts';

/** Delay before a retry while an earlier commitment is not recorded or not finalized, ms. */
const PENDING_RETRY_MS = 500;
/** Delay before a retry after the chain rejected the commitment, ms. */
const REJECTED_RETRY_MS = 15_000;

/**
 * The transaction type that commits to a round's entries on the chain, with a memo that the committer signs. The subject of the transaction is the
 * round's id. The chain would accept a second commitment to the same round, so two checks prevent a second commitment. First, the submission engine
 * signs no new transaction for a round while an earlier transaction may still land. Second, `compose` looks for an existing commitment on the chain.
 */
export const drawCommitment: TransactionType = {
  name: 'draw-commitment',
  scope: 'rounds',
  priority: 'commitments',
  afterFailure: 'again',
  compose,
  // A round is never abandoned: the error is logged for the operators, and the commitment is retried.
  async simulationFailed(app, subject, error) {
    app.log.error({ round: subject, error }, 'the chain rejected the commitment of a round; the commitment is retried');
    return { do: 'wait', ms: REJECTED_RETRY_MS, reason: error.message };
  },
  finalized: async (tx, landings) => {
    for (const { subject } of landings) tx.enqueue(advanceRound, { round: subject });
  },
  failed: async (tx, failures) => {
    for (const { subject } of failures) tx.enqueue(advanceRound, { round: subject });
  },
};

async function compose(app: App, subject: string): Promise<TransactionDraft | ComposeOutcome> {
  const committer = app.chain.address('committer').toBase58();
  const [round, own, { last, landed }] = await Promise.all([
    readRound(app.db, subject),
    readPosition(app.db, subject),
    readNewestPositions(app.db, committer),
  ]);
  if (own && own.signature !== null) return { do: 'done', signature: own.signature, slot: own.slot };
  if (!round || !isOpened(round) || round.state !== 'closing' || round.root === null) {
    return { do: 'manual', reason: `round ${subject} cannot be committed: its state is ${round?.state ?? 'unknown'}` };
  }
  if (last && last.hash === null && last.round !== subject) return waitFor(`the commitment of round ${last.round} must be recorded first`);
  const since = landed && landed.signature !== null && landed.slot !== null ? { signature: landed.signature, slot: landed.slot } : null;
  const found = await findOnChain(app, round, since);
  if (found !== null) return found;

  const chain = await beaconOf(app).chain();
  const place = await app.tx((tx) => assignPosition(tx, subject, committer));
  if (place === null) return waitFor('another commitment must be recorded first');
  const { sequence, previous } = place;
  const beaconRound = roundToCommit(chain, await readDatabaseClock(app.db), round.parameters.leadSec);
  const text = commitmentMemo({ ...contentOf(app, round), sequence, beaconRound, previous });
  return { do: 'sign', feePayer: 'feePayer', signers: ['committer'], instructions: [memo(text, [app.chain.key('committer').publicKey])] };
}

const waitFor = (reason: string): ComposeOutcome => ({ do: 'wait', ms: PENDING_RETRY_MS, reason });

/** Returns the fields of a commitment that depend only on its round. */
function contentOf(
  { config }: Pick<App, 'config'>,
  { id, root, entries, parametersHash }: OpenedRound,
): Omit<Commitment, 'sequence' | 'beaconRound' | 'previous'> {
  return { round: id, entriesRoot: root ?? '', count: entries, parametersHash, chainHash: config.chain.beacon.chainHash };
}

/** Compares a commitment with its round. @returns the first difference in one sentence, or null */
export function commitmentMismatch(app: Pick<App, 'config'>, round: OpenedRound, commitment: Commitment): string | null {
  const content = contentOf(app, round);
  for (const key of ['round', 'entriesRoot', 'count', 'parametersHash', 'chainHash'] as const) {
    if (commitment[key] !== content[key]) return `its ${key} is ${commitment[key]}, but must be ${content[key]}`;
  }
  return null;
}

/**
 * Looks for the oldest commitment that is on the chain but not in the database (for example after the database was restored from a backup). If this
 * commitment is for the given round, it is used. If it is for another round, the given round waits.
 * @returns null when the database contains all commitments on the chain
 */
async function findOnChain(app: App, round: OpenedRound, since: Parameters<typeof commitmentsSince>[1]): Promise<ComposeOutcome | null> {
  const conflict = (reason: string): ComposeOutcome => {
    app.log.error(
      { round: round.id, reason },
      'the chain has a commitment that conflicts with the database; the round waits until an operator decides',
    );
    return { do: 'manual', reason };
  };
  // Commitments are recorded in their order on the chain, so only the oldest missing commitment is handled in this call.
  const [oldest] = await commitmentsSince(app, since);
  if (!oldest) return null;
  const { memo, signature, slot, final } = oldest;
  const commitment = parseMemo(memo);
  if (commitment === null) return conflict(`the memo of transaction ${signature} begins like a commitment but is malformed`);
  if (commitment.round !== round.id) {
    const other = await readRound(app.db, commitment.round);
    if (other?.commitment?.signature === signature) return waitFor('the commitment of another round was recorded just now');
    if (other && awaitsCommitment(other)) return waitFor(`the commitment of round ${commitment.round} must be recorded first`);
    return conflict(`transaction ${signature} uses sequence number ${commitment.sequence} for round ${commitment.round}`);
  }
  const mismatch = commitmentMismatch(app, round, commitment);
  if (mismatch !== null) return conflict(`the commitment in transaction ${signature} does not match the round: ${mismatch}`);
  return final ? { do: 'done', signature, slot } : waitFor(`transaction ${signature} is not finalized yet`);
}

const awaitsCommitment = ({ state, commitment }: RoundRow): boolean => state === 'closing' && commitment === null;
