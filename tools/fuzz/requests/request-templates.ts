import { TEST_GAME } from '#test/support/areas/arcade.ts';
import { type ClientState, GAMES } from '../client-state.ts';
import type { Random } from '../random.ts';
import type { RequestTemplate } from './request-template.ts';
import type { Values } from './values.ts';

interface TemplateContext {
  readonly random: Random;
  readonly state: ClientState;
  readonly values: Values;
}

const DAY_MS = 86_400_000;
const endedDay = (random: Random) => Math.floor(Date.now() / DAY_MS) - random.int(1, 400);
const idleWallet = ({ random, state }: TemplateContext) => random.pick(state.idleWallets);
/** Returns an id with the prefix `fuzz-`, so that the games and cabinets of the service are not changed. */
const slug = ({ random }: TemplateContext) => `fuzz-${random.int(1, 20)}`;
const gameOf = ({ random, state }: TemplateContext) => (random.chance(0.6) ? random.pick(GAMES) : String(state.recall('game', random)));
const amount = ({ random }: TemplateContext) => String(random.int(1, 5_000));

/** Returns the terms of a round that ends during the run. */
const shortRound = (random: Random) => ({
  title: `Draw ${random.int(1, 99)}`,
  ...{ picks: 3, range: 9, durationSec: 10 },
  prizes: [{ amount: '5', mint: random.pick(['usdc', 'reward']) }],
});

const webhookOf = ({ random, state }: TemplateContext): RequestTemplate => ({
  params: { source: random.pick(['payment-status', 'chat-bridge', 'x']), id: String(state.recall('webhook', random)) },
});

export const TEMPLATES: Readonly<Record<string, (context: TemplateContext) => RequestTemplate>> = {
  'POST /arcade/score': (context) => ({ body: { gameId: gameOf(context), score: context.random.int(0, context.random.pick([1_000, 1_000_000])) } }),
  'POST /quests': ({ random }) =>
    random.chance(0.4)
      ? {
          body: {
            title: `Task ${random.int(1, 99)}`,
            requirement: random.pick([{ type: 'manual' }, { type: 'plays', count: 1 }]),
            points: 5,
            repeat: 'daily',
            task: true,
          },
        }
      : {},
  'PUT /admin/games/{id}': (context) => ({ params: { id: slug(context) }, ...(context.random.chance(0.7) ? { body: TEST_GAME } : {}) }),
  'POST /game/{id}/play': (context) => ({ params: { id: gameOf(context) } }),
  'PUT /admin/cabinets/{id}': (context) => ({ params: { id: slug(context) } }),
  'POST /admin/cabinet/possess': (context) => ({ body: { cabinetId: slug(context), by: 'ghost' } }),
  'POST /admin/cabinet/release': (context) => ({ body: { cabinetId: slug(context) } }),
  // Bans only idle wallets, because players must be able to send further requests.
  'POST /admin/wallets/{wallet}/ban': (context) => ({ params: { wallet: idleWallet(context) } }),
  'POST /admin/wallets/{wallet}/unban': (context) => ({ params: { wallet: idleWallet(context) } }),
  'POST /admin/chat/moderate': (context) => {
    const { random, state } = context;
    const action = random.pick(['mute', 'unmute', 'ban', 'unban', 'delete', 'back']);
    if (action === 'delete') return { body: { action, messageId: state.recall('message', random) ?? random.uuid() } };
    if (action === 'back') return { body: { action: 'unban', wallet: random.pick(state.players).address } };
    return { body: { action, wallet: idleWallet(context), ...(action === 'mute' ? { minutes: 1 } : {}) } };
  },
  'PUT /admin/config/rewards': ({ random }) =>
    random.chance(0.7) ? { body: { pool: '100000000000', cap: null, dust: '0', expiryDays: 30, automatic: false } } : {},
  'POST /rewards/trigger-epoch': ({ random }) => ({ body: { epoch: endedDay(random) } }),
  // Settles only even days off-chain, so that the rewards of odd days can be claimed.
  'POST /api/rewards/settled-offchain': ({ random }) => ({ body: { epochs: [endedDay(random) & ~1] } }),
  'POST /api/rewards/epoch/import': (context) => ({
    body: {
      epoch: endedDay(context.random),
      distribution: context.state.players.slice(context.random.int(0, 6)).map(({ address }) => ({ wallet: address, amount: amount(context) })),
    },
  }),
  'POST /round': ({ random }) => ({ body: { ticketPrice: random.pick(['0', '0', '1000000']), maxTickets: random.int(1, 100) } }),
  'POST /round/{id}/ticket': ({ random }) => (random.chance(0.6) ? { body: {} } : {}),
  'POST /chat/message': ({ random }) =>
    random.chance(0.5) ? { body: { text: random.pick(['!enter', '!enter 1 2 3', 'gg', '!enter 5 9 14 22 31']) } } : {},
  'POST /chat/round': ({ random }) => ({ body: shortRound(random) }),
  'POST /auto/start': ({ random }) => ({ body: { intervalSec: random.pick([60, 600]), template: shortRound(random) } }),
  'POST /admin/payments': (context) => ({
    body: {
      wallet: idleWallet(context),
      currency: context.random.pick(['usdc', 'reward']),
      amount: amount(context),
      reference: `fuzz-${context.random.int(1, 400)}`,
    },
  }),
  'POST /battle/create': (context) => ({
    body: { gameId: gameOf(context), maxPlayers: context.random.int(2, 4), durationSec: context.random.int(60, 600) },
  }),
  'GET /events': ({ random }) => ({ query: { categories: random.pick(['gameplay', 'chat,round', 'rewards,system']) } }),
  'GET /admin/webhooks/{source}/{id}': webhookOf,
  'POST /admin/webhooks/{source}/{id}/replay': webhookOf,
};
