import { advanceRound } from '#jobs/rounds.ts';
import { type Commitment, commitmentMemo, parseMemo } from '#lib/draw/commitment.ts';
import type { App } from '#platform/app.ts';
import { beaconOf, roundToCommit } from '#platform/solana/beacon/beacon.ts';
import type { Draft, Outcome, TransactionType } from '#platform/solana/submission/transactions.ts';
import { memo } from '#platform/solana/tokens.ts';
import { type RoundRow, readRound } from '../rows.ts';
import { commitmentsSince } from './chain.ts';
import { clockOf, isOpened, type OpenedRound } from './rows.ts';
import { newestPlaces, placeOf, takePlace } from './sequence.ts';

/** How long until a commitment that cannot be signed yet is looked at again, ms: when another is on its way, and when the chain refuses it. */
const SOON_MS = 500;
const HELD_MS = 15_000;

/**
 * Commits to a round's entries on the chain: a memo, signed by the committer. The subject is the round. Nothing on the chain keeps it from
 * happening twice: no other is signed while one may land (the engine), or is there already (`compose`).
 */
export const drawCommitment: TransactionType = {
  name: 'draw-commitment',
  scope: 'rounds',
  afterFailure: 'again',
  compose,
  // Nothing of a round is given up: people are told, and it is tried again.
  async refused(app, subject, error) {
    app.log.error({ round: subject, error }, 'the commitment of a round is refused by the chain');
    return { do: 'wait', ms: HELD_MS, reason: error.message };
  },
  finalized: async (tx, landings) => {
    for (const { subject } of landings) tx.enqueue(advanceRound, { round: subject });
  },
  failed: async (tx, failures) => {
    for (const { subject } of failures) tx.enqueue(advanceRound, { round: subject });
  },
};

async function compose(app: App, subject: string): Promise<Draft | Outcome> {
  const committer = app.chain.address('committer').toBase58();
  const [round, own, { last, landed }] = await Promise.all([readRound(app.db, subject), placeOf(app.db, subject), newestPlaces(app.db, committer)]);
  if (own && own.signature !== null) return { do: 'done', signature: own.signature, slot: own.slot };
  if (!round || !isOpened(round) || round.state !== 'closing' || round.root === null) {
    return { do: 'manual', reason: `round ${subject} is not to be committed to: it is ${round?.state ?? 'not there'}` };
  }
  if (last && last.hash === null && last.round !== subject) return waiting(`the commitment of round ${last.round} comes first`);
  const since = landed && landed.signature !== null && landed.slot !== null ? { signature: landed.signature, slot: landed.slot } : null;
  const found = await findOnChain(app, round, since);
  if (found !== null) return found;

  const chain = await beaconOf(app).chain();
  const place = await app.tx((tx) => takePlace(tx, subject, committer));
  if (place === null) return waiting('another commitment comes first');
  const { sequence, previous } = place;
  const beaconRound = roundToCommit(chain, await clockOf(app.db), round.parameters.leadSec);
  const text = commitmentMemo({ ...contentOf(app, round), sequence, beaconRound, previous });
  return { do: 'sign', feePayer: 'feePayer', signers: ['committer'], instructions: [memo(text, [app.chain.key('committer').publicKey])] };
}

const waiting = (reason: string): Outcome => ({ do: 'wait', ms: SOON_MS, reason });

/** What a commitment says of its round, whenever it is signed. */
function contentOf(
  { config }: Pick<App, 'config'>,
  { id, root, entries, parametersHash }: OpenedRound,
): Omit<Commitment, 'sequence' | 'beaconRound' | 'previous'> {
  return { round: id, entriesRoot: root ?? '', count: entries, parametersHash, chainHash: config.chain.beacon.chainHash };
}

/** The first thing that a commitment says otherwise than it must of a round, or null. */
export function misfitOf(app: Pick<App, 'config'>, round: OpenedRound, commitment: Commitment): string | null {
  const content = contentOf(app, round);
  for (const key of ['round', 'entriesRoot', 'count', 'parametersHash', 'chainHash'] as const) {
    if (commitment[key] !== content[key]) return `its ${key} is ${commitment[key]}, and must be ${content[key]}`;
  }
  return null;
}

/**
 * What the committer's key has on the chain that the record does not know, as when the record was restored from before: a commitment to
 * this round is taken as it is, and none is signed while that of another round is not recorded.
 */
async function findOnChain(app: App, round: OpenedRound, since: Parameters<typeof commitmentsSince>[1]): Promise<Outcome | null> {
  const evil = (reason: string): Outcome => {
    app.log.error({ round: round.id, reason }, 'the committer’s key has committed to what the record does not know');
    return { do: 'manual', reason };
  };
  // The oldest decides: the others come after it is recorded.
  const [oldest] = await commitmentsSince(app, since);
  if (!oldest) return null;
  const { memo, signature, slot, final } = oldest;
  const commitment = parseMemo(memo);
  if (commitment === null) return evil(`transaction ${signature} holds no commitment, though it begins like one`);
  if (commitment.round !== round.id) {
    const other = await readRound(app.db, commitment.round);
    if (other?.commitment?.signature === signature) return waiting('the commitment of another round has just been recorded');
    if (other && awaitsCommitment(other)) return waiting(`the commitment of round ${commitment.round} is to be recorded first`);
    return evil(`sequence number ${commitment.sequence} is used by transaction ${signature} for round ${commitment.round}`);
  }
  const misfit = misfitOf(app, round, commitment);
  if (misfit !== null) return evil(`transaction ${signature} commits to something else: ${misfit}`);
  return final ? { do: 'done', signature, slot } : waiting(`transaction ${signature} is not final yet`);
}

const awaitsCommitment = ({ state, commitment }: RoundRow): boolean => state === 'closing' && commitment === null;
