import type { Kind } from '../../../chain/transactions.ts';

/** Commits to a round's entries on the chain: a memo, signed by the committer. The subject is the round. */
export const drawCommitment: Kind = {
  name: 'draw-commitment',
  scope: 'rounds',
  afterFailure: 'again',
  compose: async () => ({ do: 'wait', ms: 1_000, reason: 'to be built' }),
  finalized: async () => {},
  failed: async () => {},
};
