/**
 * Tags of the OpenAPI document. `words` selects the paths of a tag: each word is the first segment or the first two segments of a path, without a
 * leading `api/`.
 */
export const TAGS: readonly { readonly name: string; readonly description: string; readonly words: readonly string[] }[] = [
  { name: 'Sign-in', description: 'Sign-In With Solana, sessions, the current user.', words: ['auth', 'me', 'eligibility', '.well-known'] },
  { name: 'Arcade', description: 'Games, plays, scores, saved game states and records.', words: ['arcade', 'game', 'lobby', 'me/scores'] },
  { name: 'Leaderboards', description: 'Ranks over all games, quests and referrals.', words: ['leaderboard', 'users'] },
  { name: 'Battles', description: 'Head-to-head and multiplayer battles.', words: ['battle', 'me/battles'] },
  { name: 'Rounds', description: 'Lottery rounds: chat rounds and legacy rounds.', words: ['round', 'rounds', 'chat', 'auto', 'me/entries'] },
  { name: 'Rewards', description: 'Epochs, proofs, claims.', words: ['rewards', 'me/claims'] },
  { name: 'Referrals', description: 'Referral links, bindings and earnings.', words: ['referral'] },
  {
    name: 'Profile',
    description: 'Points, preferences, daily tasks, payments.',
    words: ['profile', 'beta', 'tasks', 'debug', 'me/payments', 'me/name'],
  },
  {
    name: 'Quests',
    description: 'Quests, progress, the multiplier and the points ledger.',
    words: ['quests', 'ledger', 'me/quests', 'me/quest-multiplier'],
  },
  { name: 'Events', description: 'The event stream and burn events.', words: ['events', 'me/burns'] },
  { name: 'Social', description: 'Sharing, clips, and events from social networks.', words: ['social', 'clip', 'clips', 'integrations'] },
  { name: 'Pages', description: 'HTML pages for people. A front end at `FRONTEND_URL` replaces them.', words: ['', 'link', 'share'] },
  {
    name: 'Actions',
    description: 'Solana Actions: claims and tickets from wallets and pages of any origin, without a session.',
    words: ['actions', 'actions.json'],
  },
  { name: 'Configuration', description: 'The public configuration of points and rewards.', words: ['config'] },
  { name: 'Utility', description: 'Prices, names, health, payment webhooks.', words: ['price', 'wallet', 'healthz', 'readyz', 'webhooks'] },
  { name: 'Admin', description: 'Operations with an admin token. Every action is in the audit log.', words: ['admin'] },
];

const byWord = new Map(TAGS.flatMap((tag) => tag.words.map((word) => [word, tag.name])));

/** Returns the tag of a path. If no tag selects the path, returns the first segment of the path. */
export function tagOf(path: string): string {
  const [first = '', second = ''] = path.replace(/^\/(?:api\/)?/, '').split('/');
  return byWord.get(`${first}/${second}`) ?? byWord.get(first) ?? first;
}
