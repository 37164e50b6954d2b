import { type Queryable, statement } from '#platform/db/sql.ts';
import { NewQuest } from './definition.ts';
import { lockInsertions } from './insertion-lock.ts';

/** Quests that the seed inserts. Most of them require scores, because scores are verified, while plays and clips are cheap to produce. */
const QUESTS: readonly (typeof NewQuest._input)[] = [
  {
    id: 'regular',
    title: 'Regular',
    description: 'Have 25 scores accepted, in games that earn rewards.',
    category: 'arcade',
    requirement: { type: 'scores', count: 25 },
    points: 500,
  },
  {
    id: 'sharpshooter',
    title: 'Sharpshooter',
    description: 'Reach 8,000 in a game that earns rewards, with 10 scores accepted.',
    category: 'arcade',
    requirement: {
      all: [
        { type: 'scores', count: 10 },
        { type: 'bestScore', atLeast: 8_000 },
      ],
    },
    points: 400,
  },
  {
    id: 'all-week',
    title: 'All week',
    description: 'Seven days in a row, and 20 accepted scores in the week, in games that earn rewards.',
    category: 'streak',
    requirement: {
      all: [
        { type: 'streak', days: 7 },
        { type: 'scores', count: 20 },
      ],
    },
    points: 300,
    repeat: 'weekly',
  },
  {
    id: 'herald',
    title: 'Herald',
    description: 'Follow the arcade and repost it three times, or bring three friends.',
    category: 'social',
    requirement: { any: [{ all: [{ type: 'follow' }, { type: 'repost', count: 3 }] }, { type: 'referrals', count: 3 }] },
    points: 250,
  },
  {
    id: 'clip-upload',
    title: 'Highlight',
    description: 'Upload a clip of a game.',
    category: 'social',
    requirement: { type: 'clips', count: 1 },
    points: 50,
  },
  {
    id: 'daily-warm-up',
    title: 'Warm-up',
    description: 'Have three scores accepted today, in games that earn rewards.',
    category: 'daily',
    requirement: { type: 'scores', count: 3 },
    points: 30,
    repeat: 'daily',
    task: true,
  },
  {
    id: 'daily-high-aim',
    title: 'High aim',
    description: 'Reach 6,000 today, in a game that earns rewards.',
    category: 'daily',
    requirement: { type: 'bestScore', atLeast: 6_000 },
    points: 50,
    repeat: 'daily',
    task: true,
  },
  {
    id: 'daily-marathon',
    title: 'Marathon',
    description: 'Have fifteen scores accepted today, in games that earn rewards.',
    category: 'daily',
    requirement: { type: 'scores', count: 15 },
    points: 80,
    repeat: 'daily',
    task: true,
  },
];

const fillQuests = statement<{ id: string }>(
  'seed_quests',
  `with quest as (
     insert into quests (id, version, definition, published_version) select q.id, 1, q.definition, 1 from unnest($1::text[], $2::jsonb[]) as q(id, definition)
     where not exists (select from quests) returning id, definition)
   insert into quest_versions (quest_id, version, definition, by) select id, 1, definition, 'seed' from quest returning quest_id as id`,
);

/**
 * Inserts the seed quests if the table of quests has no row, not even a deleted quest. Precondition: an open transaction.
 * @returns the tables that were filled, for the log
 */
export async function seedQuests(db: Queryable): Promise<string[]> {
  const quests = QUESTS.map((quest) => NewQuest.parse(quest));
  await db.query(lockInsertions);
  const filled = await db.query(fillQuests, [quests.map(({ id }) => id), quests.map(({ definition }) => JSON.stringify(definition))]);
  return filled.length > 0 ? [`quests (${filled.length})`] : [];
}
