/** Tables that no check reads, by name, with the reason. */
export const NOT_AUDITED: Readonly<Record<string, string>> = {
  app_clock: 'the offset of the clock of the database, for development only',
  arcade_events: 'announcements that operators write; no points and no money depend on them',
  burn_cursors: 'the position of the reader of burns; the ranges that it could not read are in burn_gaps',
  burn_gaps: 'parts of the transaction history of a mint that the reader of burns has not read yet',
  burn_transactions: 'transactions that the reader of burns has not read yet; the burns of a read transaction are in burns',
  cabinets: 'content that operators edit; no points and no money depend on it',
  chat_sanctions: 'decisions of moderators, each of them in admin_audit',
  idempotency_keys: 'stored responses for repeated requests; they are purged',
  nonces: 'challenges for the sign-in, purged when they expire',
  reward_import_pages: 'pages of an import that is not complete; a complete import is compared with its leaves',
  reward_projections: 'a cache that is computed again',
  round_schedule: 'settings of operators; the rounds that it started are in rounds',
};
