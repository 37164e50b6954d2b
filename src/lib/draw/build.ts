import { type Audit, LandedCommitment, type VoidReason } from './audit.ts';
import { type BeaconChain, timeOf } from './beacon-chain.ts';
import { instantOf, toHex } from './bytes.ts';
import type { Entry } from './entry.ts';
import { parametersHash, RoundParameters } from './parameters.ts';
import type { EntriesSummary } from './round-leaf.ts';
import { drawSeed, randomnessOf } from './seed.ts';
import { SignedAnnouncement, SignedClosed } from './statements.ts';
import { drawRound } from './winners.ts';

/** Input of an audit. All other values of the audit are computed from this input and the entries. */
export interface RoundFacts {
  readonly parameters: RoundParameters;
  readonly announcement: SignedAnnouncement;
  readonly closed: SignedClosed;
  /** The values of the frozen entries (`summarize`). */
  readonly entries: EntriesSummary;
  /** The commitment account; null until it is finalized on the chain. */
  readonly commitment: LandedCommitment | null;
  /**
   * The beacon chain that the draws account names, and the verified signature of the commitment's beacon round, hex. `signature` is null until the
   * beacon round is published.
   */
  readonly beacon: { readonly chain: BeaconChain; readonly signature: string | null } | null;
  readonly void: VoidReason | null;
}

/**
 * Builds the audit of a round without checking it; `verifyAudit` checks an audit. The audit contains the draw if the entries are given and the round
 * has a commitment with its blockhash and a beacon signature. Equal facts give the same JSON text, even if their fields are in another order.
 * @param entries the frozen entries, ordered by index; null for an audit without the draw
 * @throws when there is a commitment but `beacon` is null
 */
export function buildAudit(given: RoundFacts, entries: readonly Entry[] | null): Audit {
  const facts = inOrder(given);
  const { parameters, commitment, beacon } = facts;
  const { count, root, runningHash } = facts.entries;
  return {
    version: 2,
    round: parameters.round,
    void: facts.void,
    parameters,
    parametersHash: parametersHash(parameters),
    announcement: facts.announcement,
    closed: facts.closed,
    entries: { count, root, runningHash },
    commitment,
    beacon: commitment === null ? null : beaconPart(commitment, beacon),
    ...resultOf(facts, entries),
  };
}

/** Puts the fields in the order of their schemas, because a database may return them in another order. */
const inOrder = (facts: RoundFacts): RoundFacts => ({
  ...facts,
  parameters: RoundParameters.parse(facts.parameters),
  announcement: SignedAnnouncement.parse(facts.announcement),
  closed: SignedClosed.parse(facts.closed),
  commitment: facts.commitment && LandedCommitment.parse(facts.commitment),
});

function beaconPart({ beaconRound }: LandedCommitment, beacon: RoundFacts['beacon']): Audit['beacon'] {
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

function resultOf({ parameters, commitment, beacon }: RoundFacts, entries: readonly Entry[] | null): Pick<Audit, 'draw' | 'winners'> {
  const [blockhash, signature] = [commitment?.blockhash ?? null, beacon?.signature ?? null];
  if (entries === null || commitment === null || beacon === null || blockhash === null || signature === null) return { draw: null, winners: null };
  const { leaf, beaconRound } = commitment;
  const { chainHash } = beacon.chain;
  const seed = drawSeed({ round: parameters.round, leaf, chainHash, beaconRound, randomness: randomnessOf(signature), blockhash });
  const { draw, winners } = drawRound(seed, parameters, entries);
  return { draw: { seed: toHex(seed), ...draw }, winners };
}
