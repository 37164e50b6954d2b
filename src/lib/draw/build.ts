import { type Audit, LandedCommitment, type VoidReason } from './audit.ts';
import { type BeaconChain, timeOf } from './beacon-chain.ts';
import { instantOf } from './bytes.ts';
import { type Commitment, commitmentHash, parseMemo } from './commitment.ts';
import { type Entry, entryTree, leavesOf, proveEntry, treeRoot } from './entry.ts';
import { parametersHash, RoundParameters } from './parameters.ts';
import { drawSeed, randomnessOf } from './seed.ts';
import { drawRound } from './winners.ts';

/** Input of an audit. All other values of the audit are computed from this input. */
export interface RoundFacts {
  readonly parameters: RoundParameters;
  /** The frozen entries, ordered by index. */
  readonly entries: readonly Entry[];
  /** The landed commitment; null until it is finalized on the chain. */
  readonly commitment: LandedCommitment | null;
  /**
   * The beacon chain that the commitment names, and the verified signature of the named beacon round, hex. `signature` is null until the beacon round
   * is published.
   */
  readonly beacon: { readonly chain: BeaconChain; readonly signature: string | null } | null;
  readonly void: VoidReason | null;
}

/** Returns the tree of a round's entries, or null when there are none. */
export const treeOf = ({ parameters, entries }: Pick<RoundFacts, 'parameters' | 'entries'>): Uint8Array[] | null =>
  entries.length === 0 ? null : entryTree(parameters.round, entries);

/**
 * Builds the audit of a round without checking it; `verifyRound` checks an audit. The audit contains the draw if the round is not void and has
 * entries, a commitment and a beacon signature. Equal facts give the same JSON text, even if their fields are in another order.
 * @param tree result of `treeOf`, if the caller has computed it already
 * @throws when the memo does not have the format of a commitment, or when there is a commitment but `beacon` is null
 */
export function buildAudit(given: RoundFacts, tree: readonly Uint8Array[] | null = treeOf(given)): Audit {
  const facts = inOrder(given);
  const { parameters, entries, commitment: landed, beacon } = facts;
  const commitment = landed === null ? null : readCommitment(landed);
  const ownRoot = tree === null ? null : treeRoot(tree);
  // If the round is void because the stored entries do not match the commitment, the audit states the count and the root from the commitment.
  const isCommitted = facts.void === 'entries-differ' && commitment !== null;
  return {
    version: 1,
    round: parameters.round,
    void: facts.void,
    parameters,
    parametersHash: parametersHash(parameters),
    entries: isCommitted ? { count: commitment.count, root: commitment.entriesRoot } : { count: entries.length, root: ownRoot },
    commitment:
      landed === null || commitment === null
        ? null
        : { ...landed, sequence: commitment.sequence, previous: commitment.previous, hash: commitmentHash(landed.memo) },
    beacon: commitment === null ? null : beaconPart(commitment, beacon),
    ...resultOf(facts, commitment, tree),
    entryHashes: tree === null ? [] : leavesOf(tree),
  };
}

/** Puts the fields in the order of their schemas, because a database may return them in another order. */
const inOrder = (facts: RoundFacts): RoundFacts => ({
  ...facts,
  parameters: RoundParameters.parse(facts.parameters),
  commitment: facts.commitment && LandedCommitment.parse(facts.commitment),
});

function readCommitment({ memo }: LandedCommitment): Commitment {
  const commitment = parseMemo(memo);
  if (commitment === null) throw new Error(`the memo is not a commitment: ${memo}`);
  return commitment;
}

function beaconPart({ beaconRound }: Commitment, beacon: RoundFacts['beacon']): Audit['beacon'] {
  if (beacon === null) throw new Error('the beacon of the commitment is missing');
  const { chain, signature } = beacon;
  const { chainHash, scheme, publicKey, period, genesisTime, groupHash, beaconId } = chain;
  return {
    ...{ chainHash, scheme, publicKey, period, genesisTime, groupHash, beaconId },
    round: beaconRound,
    dueAt: instantOf(timeOf(chain, beaconRound)),
    signature,
    randomness: signature === null ? null : randomnessOf(signature),
  };
}

function resultOf(facts: RoundFacts, commitment: Commitment | null, tree: readonly Uint8Array[] | null): Pick<Audit, 'draw' | 'winners'> {
  const signature = facts.beacon?.signature ?? null;
  if (facts.void !== null || commitment === null || facts.commitment === null || signature === null || tree === null)
    return { draw: null, winners: null };
  const seed = drawSeed(commitment, randomnessOf(signature), facts.commitment.blockhash);
  const { draw, winners } = drawRound(seed, facts.parameters, facts.entries);
  return {
    draw: { seed: seed.toString('hex'), ...draw },
    winners: winners.map((winner) => ({ ...winner, ...proveEntry(tree, winner.index) })),
  };
}
