import { type Audit, LandedCommitment, type VoidReason } from './audit.ts';
import { type BeaconChain, timeOf } from './beacon-chain.ts';
import { instantOf } from './bytes.ts';
import { type Commitment, commitmentHash, parseMemo } from './commitment.ts';
import { type Entry, entryTree, leavesOf, proveEntry, treeRoot } from './entry.ts';
import { parametersHash, RoundParameters } from './parameters.ts';
import { drawSeed, randomnessOf } from './seed.ts';
import { drawRound } from './winners.ts';

/** What a round is made of; everything else follows. */
export interface RoundFacts {
  readonly parameters: RoundParameters;
  /** The frozen entries, by index. */
  readonly entries: readonly Entry[];
  /** null before a commitment is final on the chain. */
  readonly commitment: LandedCommitment | null;
  /** The chain that the commitment names, and its signature of the round that it names: verified, hex; null before it is there. */
  readonly beacon: { readonly chain: BeaconChain; readonly signature: string | null } | null;
  readonly void: VoidReason | null;
}

/** The tree of a round's entries; none where there are no entries. */
export const treeOf = ({ parameters, entries }: Pick<RoundFacts, 'parameters' | 'entries'>): Uint8Array[] | null =>
  entries.length === 0 ? null : entryTree(parameters.round, entries);

/**
 * The audit of a round, as far as it has come: the draw as soon as there are a commitment and a signature, unless the round is void.
 * It is computed, not judged: `verifyRound` judges. The same facts give the same bytes of JSON, in whatever order their fields came.
 * @param tree of `treeOf`, where it is there already
 * @throws where the commitment is none, or comes without its beacon
 */
export function buildAudit(given: RoundFacts, tree: readonly Uint8Array[] | null = treeOf(given)): Audit {
  const facts = inOrder(given);
  const { parameters, entries, commitment: landed, beacon } = facts;
  const commitment = landed === null ? null : committed(landed);
  const ownRoot = tree === null ? null : treeRoot(tree);
  // Where the entries are not what was committed to, what was frozen is what the commitment says.
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

/** With the fields in the order of their shapes: a database gives them back in another. */
const inOrder = (facts: RoundFacts): RoundFacts => ({
  ...facts,
  parameters: RoundParameters.parse(facts.parameters),
  commitment: facts.commitment && LandedCommitment.parse(facts.commitment),
});

function committed({ memo }: LandedCommitment): Commitment {
  const commitment = parseMemo(memo);
  if (commitment === null) throw new Error(`the memo is no commitment: ${memo}`);
  return commitment;
}

function beaconPart({ beaconRound }: Commitment, beacon: RoundFacts['beacon']): Audit['beacon'] {
  if (beacon === null) throw new Error('a commitment comes with the beacon that it names');
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
