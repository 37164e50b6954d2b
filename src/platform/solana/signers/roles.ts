/**
 * The keys that sign transactions. `feePayer` pays fees and rent; `epochAuthority` opens and settles reward epochs; `treasury` owns the
 * tokens that are paid out; `committer` signs draw commitments.
 */
export const ROLES = ['feePayer', 'epochAuthority', 'treasury', 'committer'] as const;
export type Role = (typeof ROLES)[number];

/** The beginning of the names of a role's settings, such as `TREASURY` of `TREASURY_KEY`. */
export const PREFIX_OF = {
  feePayer: 'FEE_PAYER',
  epochAuthority: 'EPOCH_AUTHORITY',
  treasury: 'TREASURY',
  committer: 'COMMITTER',
} as const satisfies Record<Role, string>;
