/**
 * Columns, as `statement.column`, that the table allows to be null but that are never null in the rows that the statement selects. The value says
 * why. A test fails when an entry is not needed.
 */
export const NEVER_NULL: Readonly<Record<string, string>> = {
  'lock_active_chat_round.parameters': 'An active round has its parameters (check of the table rounds).',
  'lock_active_chat_round.parametersHash': 'An active round has the hash of its parameters (check of the table rounds).',
  'lock_active_chat_round.announcement': 'An active round has its announcement (check of the table rounds).',
  'lock_active_chat_round.runningHash': 'An active round has a running hash (check of the table rounds).',
  'lock_round.parametersHash': 'A round with parameters has their hash (check of the table rounds).',
  'lock_round.announcement': 'A round with parameters has its announcement (check of the table rounds).',
  'lock_round.runningHash': 'A round with parameters has a running hash (check of the table rounds).',
  'find_idempotency_key.status': 'The transaction that inserts the key also stores the status, so a committed key has a status.',
  'select_checking_ticket.signature': 'A ticket that is being checked has a signature (check of the table tickets).',
  'select_checking_ticket.parameters': 'A round with tickets has its parameters (check of the table rounds).',
  'take_due_tickets.signature': 'A ticket that is being checked has a signature (check of the table tickets).',
  'list_open_chat_rounds.title': 'A chat round has a title (check of the table rounds).',
  'select_winners.matches': 'A winner of a chat round has a number of matches (src/areas/lottery/lifecycle).',
  'commit_epochs.leaves': 'A computed epoch has leaves.',
  'select_claims_to_compose.leaves': 'An epoch with claims has leaves.',
};
