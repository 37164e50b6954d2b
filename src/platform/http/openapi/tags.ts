/** How the document groups the endpoints: by the first one or two words of the path, an `api/` before them aside. */
export const TAGS: readonly { readonly name: string; readonly description: string; readonly words: readonly string[] }[] = [
  { name: 'Sign-in', description: 'Sign-In With Solana, the session, who the caller is.', words: ['auth', 'me', 'eligibility', '.well-known'] },
  { name: 'Arcade', description: 'Games, plays, scores, saved states and records.', words: ['arcade', 'game'] },
  { name: 'Leaderboards', description: 'Ranks over all games, quests and referrals.', words: ['leaderboard', 'users'] },
  { name: 'Battles', description: 'Head-to-head and multiplayer battles.', words: ['battle'] },
  { name: 'Rounds', description: 'Lottery rounds, in chat and legacy.', words: ['round', 'chat', 'auto'] },
  { name: 'Rewards', description: 'Epochs, proofs, claims.', words: ['rewards'] },
  { name: 'Referrals', description: 'Links, bindings, what they earned.', words: ['referral'] },
  { name: 'Profile', description: 'Points, preferences, daily tasks, payments.', words: ['profile', 'beta', 'tasks', 'debug', 'me/payments'] },
  {
    name: 'Quests',
    description: 'Quests, their progress, the multiplier, the ledger.',
    words: ['quests', 'ledger', 'me/quests', 'me/quest-multiplier'],
  },
  { name: 'Events', description: 'The stream of events; burn events.', words: ['events'] },
  { name: 'Social', description: 'What can be shared, clips, incoming events of networks.', words: ['social', 'clip', 'clips', 'integrations'] },
  { name: 'Configuration', description: 'What everyone may know of how points and rewards come about.', words: ['config'] },
  { name: 'Utility', description: 'Prices, names, health, payment webhooks.', words: ['price', 'wallet', 'healthz', 'readyz', 'webhooks'] },
  { name: 'Admin', description: 'Operations with an admin token; every action is audited.', words: ['admin'] },
];

const byWord = new Map(TAGS.flatMap((tag) => tag.words.map((word) => [word, tag.name])));

/** The tag of a path; paths that nobody thought of are grouped by their first word. */
export function tagOf(path: string): string {
  const [first = '', second = ''] = path.replace(/^\/(?:api\/)?/, '').split('/');
  return byWord.get(`${first}/${second}`) ?? byWord.get(first) ?? first;
}
