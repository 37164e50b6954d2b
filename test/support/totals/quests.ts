/** Quests of the histories. `warm-up` is a daily task; an operator completes `by-hand`. */
export const QUESTS = [
  { id: 'twice-a-day', requirement: { type: 'scores', count: 2 }, repeat: 'daily', points: 20 },
  { id: 'plays-of-the-week', requirement: { type: 'plays', count: 4 }, repeat: 'weekly', points: 35 },
  { id: 'good-aim', requirement: { type: 'bestScore', atLeast: 6_000, gameId: 'golf' }, repeat: 'once', points: 41 },
  { id: 'friends', requirement: { type: 'referrals', count: 1 }, repeat: 'once', points: 25 },
  { id: 'regulars', requirement: { type: 'streak', days: 2 }, repeat: 'weekly', points: 15 },
  { id: 'warm-up', requirement: { type: 'scores', count: 1 }, repeat: 'daily', points: 10, task: true },
  { id: 'by-hand', requirement: { type: 'manual' }, repeat: 'daily', points: 7 },
] as const;
