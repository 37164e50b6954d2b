import { instant, type Queryable, type Statement, statement } from '#platform/db/sql.ts';

/** A page of a list, and the number of all its rows. */
export interface Page<Row> {
  rows: Row[];
  total: number;
}

interface ScoreRow {
  scoreId: string;
  gameId: string;
  status: 'accepted' | 'held' | 'rejected' | 'voided';
  score: number;
  normalizedScore: number;
  pointsAwarded: number;
  mode: 'regular' | 'beta';
  at: string;
}
interface QuestRow {
  questId: string;
  window: string;
  mode: 'regular' | 'beta';
  points: number;
  by: string | null;
  at: string;
}
interface EntryRow {
  roundId: string;
  entryId: string;
  numbers: number[];
  at: string;
}
interface TicketRow {
  ticketId: string;
  roundId: string;
  status: 'checking' | 'confirmed' | 'refused';
  reason: string | null;
  at: string;
}
interface NoteRow {
  id: string;
  text: string;
  by: string;
  at: string;
}

// The id of a score is a UUIDv7, so the order of the ids is the order in time. The index scores_wallet_game contains the ids of the scores of a wallet,
// so only the rows of the page are read.
const scorePage = statement<ScoreRow>(
  'admin_scores_of_wallet',
  `select s.id::text as "scoreId", s.game_id as "gameId", s.status, s.score::float8 as score, s.normalized as "normalizedScore",
     case when s.status = 'accepted' then s.points else 0 end as "pointsAwarded", s.mode, ${instant('s.at')} as at
   from (select id from scores where wallet = $1 order by id desc limit $2 offset $3) page join scores s on s.id = page.id order by s.id desc`,
);
const questPage = statement<QuestRow>(
  'admin_quests_of_wallet',
  `select quest_id as "questId", window_key as window, mode, points, by, ${instant('at')} as at from quest_completions
   where wallet = $1 order by quest_completions.at desc, quest_id, window_key desc, mode limit $2 offset $3`,
);
// Only entries of chat rounds have numbers. Uses the index entries_chosen.
const entryPage = statement<EntryRow>(
  'admin_entries_of_wallet',
  `select round::text as "roundId", id::text as "entryId", numbers, ${instant('at')} as at from entries
   where wallet = $1 and cardinality(numbers) > 0 order by entries.at desc, id desc limit $2 offset $3`,
);
const ticketPage = statement<TicketRow>(
  'admin_tickets_of_wallet',
  `select id::text as "ticketId", round::text as "roundId", state as status, reason, ${instant('created_at')} as at from tickets
   where wallet = $1 order by created_at desc, id desc limit $2 offset $3`,
);
const notePage = statement<NoteRow>(
  'admin_notes_of_wallet',
  `select id::text as id, text, by, ${instant('at')} as at from wallet_notes where wallet = $1 order by wallet_notes.id desc limit $2 offset $3`,
);
interface Total {
  total: number;
}
const countScores = statement<Total>('admin_count_scores', 'select count(*)::int as total from scores where wallet = $1');
const countQuests = statement<Total>('admin_count_quests', 'select count(*)::int as total from quest_completions where wallet = $1');
const countEntries = statement<Total>(
  'admin_count_entries',
  'select count(*)::int as total from entries where wallet = $1 and cardinality(numbers) > 0',
);
const countTickets = statement<Total>('admin_count_tickets', 'select count(*)::int as total from tickets where wallet = $1');
const countNotes = statement<Total>('admin_count_notes', 'select count(*)::int as total from wallet_notes where wallet = $1');

/** Returns a function that reads a page of a list of a wallet, newest first. */
const pageReader =
  <Row>(page: Statement<Row>, count: Statement<Total>) =>
  async (db: Queryable, wallet: string, limit: number, offset: number): Promise<Page<Row>> => {
    const [rows, [counted]] = await Promise.all([db.query(page, [wallet, limit, offset]), db.query(count, [wallet])]);
    return { rows, total: counted?.total ?? 0 };
  };

export const readScores = pageReader(scorePage, countScores);
export const readQuestCompletions = pageReader(questPage, countQuests);
export const readEntries = pageReader(entryPage, countEntries);
export const readTickets = pageReader(ticketPage, countTickets);
export const readNotes = pageReader(notePage, countNotes);
