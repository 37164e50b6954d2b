import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cardOf } from '#areas/lottery/social/card/card.ts';
import { drawCard } from '#areas/lottery/social/card/svg.ts';
import { roundPage } from '#areas/lottery/social/page.ts';
import { postOf } from '#areas/lottery/social/post.ts';
import type { SharedRound } from '#areas/lottery/social/rounds.ts';
import { summaryOf } from '#areas/lottery/social/summary.ts';
import { AT, ROOT, SEED, WALLET } from '#test/support/areas/social-rounds.ts';

/** One file per round with its summary, its post, its page and its card, as a person has looked at them. `UPDATE_SHOWN=1` writes the files anew. */
const FOLDER = join(import.meta.dirname, 'shown');

const OTHER = '4Nd1mYvV5vJ8nTq3oQ9rR2sXkz6cWbHf7uGpLeAaBcDe';
const PUBLIC_URL = new URL('https://arcade.example');
const CONFIG = { publicUrl: PUBLIC_URL, frontendUrl: null, web: true };
const FRONT_END = { publicUrl: PUBLIC_URL, frontendUrl: new URL('https://play.example/app/'), web: false };

const CHAT: SharedRound = {
  id: '0190f3c2-7b1a-7c3d-9e4f-5a6b7c8d9e0f',
  kind: 'chat',
  state: 'active',
  title: 'Friday night draw',
  createdBy: 'operator',
  picks: 5,
  range: 50,
  maxEntriesPerWallet: 3,
  prizes: [
    { amount: '25000000', mint: 'usdc' },
    { amount: '1250500000', mint: 'reward' },
  ],
  entryRules: {},
  durationSec: 600,
  ticketPrice: null,
  maxTickets: null,
  parameters: null,
  parametersHash: null,
  announcement: null,
  closed: null,
  opensAt: AT.opens,
  closesAt: AT.closes,
  entries: 1_234,
  runningHash: null,
  root: null,
  beaconRound: null,
  beaconDueAt: null,
  voidReason: null,
  commitment: null,
  overdue: false,
  createdAt: AT.created,
  closedAt: null,
  committedAt: null,
  endedAt: null,
  result: null,
};
const TICKETS: SharedRound = { ...CHAT, kind: 'legacy', title: null, picks: null, range: null, prizes: null, ticketPrice: '1500000', entries: 1 };
/** Replaces the path of the QR code by its hash, because the path is half of a card. */
const withoutCode = (svg: string) =>
  svg.replace(/ d="([^"]{2000,})"/g, (_, path: string) => ` d="${createHash('sha256').update(path).digest('hex')}"`);
const COMMITTED = { state: 'committed', root: ROOT, beaconDueAt: AT.due, closedAt: AT.closes } as const;
const FINALIZED = { ...COMMITTED, state: 'finalized', endedAt: AT.ended } as const;
const winner = (place: number, wallet: string, amount: string) => ({ place, wallet, amount });
const DRAWN = { numbers: [3, 14, 15, 26, 50], ticket: null, seed: SEED, winners: [winner(1, WALLET, '25000000')], won: 1 };

test.each<[string, SharedRound, typeof CONFIG | typeof FRONT_END]>([
  ['pending', { ...CHAT, state: 'pending' }, CONFIG],
  ['active', CHAT, CONFIG],
  ['active without prizes, with a front end', { ...CHAT, entries: 1, prizes: [] }, FRONT_END],
  ['closing', { ...CHAT, state: 'closing', closedAt: AT.closes }, CONFIG],
  ['committed', { ...CHAT, ...COMMITTED }, CONFIG],
  ['drawn with one winner', { ...CHAT, ...FINALIZED, result: DRAWN }, CONFIG],
  [
    'drawn with two winners',
    { ...CHAT, ...FINALIZED, result: { ...DRAWN, winners: [...DRAWN.winners, winner(2, OTHER, '1250500000')], won: 2 } },
    CONFIG,
  ],
  [
    'drawn with many winners',
    {
      ...CHAT,
      ...FINALIZED,
      title: 'A long title of a round that needs two lines on its card, because it has many words',
      result: { ...DRAWN, winners: [...DRAWN.winners, winner(2, OTHER, '1250500000'), winner(3, WALLET, '0')], won: 12 },
    },
    CONFIG,
  ],
  ['drawn without a winner', { ...CHAT, ...FINALIZED, result: { ...DRAWN, winners: [], won: 0 } }, FRONT_END],
  [
    'drawn with twenty numbers',
    { ...CHAT, ...FINALIZED, picks: 20, result: { ...DRAWN, numbers: Array.from({ length: 20 }, (_, i) => 236 + i) } },
    CONFIG,
  ],
  ['void', { ...CHAT, state: 'void', entries: 0, voidReason: 'no-entries', endedAt: AT.ended }, CONFIG],
  ['tickets on sale', TICKETS, CONFIG],
  ['free tickets', { ...TICKETS, ticketPrice: '0' }, CONFIG],
  ['tickets committed', { ...TICKETS, ...COMMITTED, entries: 1_300 }, CONFIG],
  [
    'tickets drawn',
    { ...TICKETS, ...FINALIZED, entries: 1_300, result: { ...DRAWN, numbers: [], ticket: 1_017, winners: [winner(1, WALLET, '1950000000')] } },
    CONFIG,
  ],
  [
    'free tickets drawn',
    { ...TICKETS, ...FINALIZED, ticketPrice: '0', result: { ...DRAWN, numbers: [], ticket: 0, winners: [winner(1, OTHER, '0')] } },
    CONFIG,
  ],
  ['tickets void', { ...TICKETS, state: 'void', entries: 0, voidReason: 'no-entries', endedAt: AT.ended }, CONFIG],
])('the summary, the post, the page and the card of a round that is %s are as reviewed', (name, round, config) => {
  const decimals = { reward: 6, usdc: 6 };
  const { body, ...page } = roundPage(config, round, decimals);
  const parts = [summaryOf(config, round, decimals), postOf(config, round, decimals), page].map((part) => JSON.stringify(part, null, 1));
  const shown = `${[...parts, body.text, withoutCode(drawCard(cardOf(config, round, decimals))).replaceAll('><', '>\n<')].join('\n\n')}\n`;
  const file = join(FOLDER, `${name.replace(/[ ,]+/g, '-')}.txt`);
  if (process.env.UPDATE_SHOWN !== undefined) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(file, shown);
  }
  expect(existsSync(file) ? readFileSync(file, 'utf8') : null).toBe(shown);
});
