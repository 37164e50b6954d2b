import type { z } from 'zod';
import { buildTicketPurchase, RoundPath, readable, readDecimals, readTicketOffer } from '#areas/lottery';
import { buildOwnClaim, EpochPath, readClaimOffer } from '#areas/rewards';
import type { App } from '#platform/app.ts';
import { reply, route, stream } from '#platform/http/route.ts';
import { ICON } from './icon.ts';
import { ActionRequest, ActionsFile, ActionTransaction, ActionView } from './schemas.ts';
import { ACCOUNT_LIMIT, countRequest, encodeFor } from './transaction.ts';

const MINUTE = 'public, max-age=60';
const LIMITS = `At most ${ACCOUNT_LIMIT.max} requests per minute and account.`;

const getActionsFile = route({
  method: 'get',
  path: '/actions.json',
  auth: 'public',
  isAction: true,
  summary: 'Read which pages have Solana Actions',
  description:
    'The rules of the specification of Solana Actions. The page of a round (`/share/round/{id}`) leads to the action that enters the round.',
  returns: { 200: ActionsFile },
  fails: [],
  cache: MINUTE,
  handler: async () =>
    reply(200, {
      rules: [
        { pathPattern: '/share/round/*', apiPath: '/actions/rounds/*/enter' },
        { pathPattern: '/actions/**', apiPath: '/actions/**' },
      ],
    }),
});

const getIcon = route({
  method: 'get',
  path: '/actions/icon.svg',
  auth: 'public',
  isAction: true,
  summary: 'The picture of the action that claims a reward',
  returns: { 200: stream('image/svg+xml') },
  fails: [],
  cache: 'public, max-age=86400',
  handler: async () => reply(200, ICON, { 'Content-Security-Policy': "default-src 'none'" }),
});

/** The words of an action. */
interface Words {
  readonly icon: string;
  readonly title: string;
  readonly description: string;
  readonly label: string;
}

/** Returns the response of GET: the words of an action, and the reason why the action cannot be done now. */
const present = (words: Words, href: string, refusal: string | null): z.input<typeof ActionView> => ({
  ...{ type: 'action', ...words, disabled: refusal !== null },
  ...(refusal === null ? {} : { error: { message: refusal } }),
  links: { actions: [{ type: 'transaction', href, label: words.label }] },
});

/** Returns the response of POST: the transaction, and the words that the client shows when the transaction is confirmed. */
const presentTransaction = (transaction: string, message: string, words: Words): z.input<typeof ActionTransaction> => ({
  ...{ type: 'transaction', transaction, message },
  links: { next: { type: 'inline', action: { type: 'completed', ...words, disabled: true } } },
});

const claimWords = (app: App, epoch: number): Omit<Words, 'description' | 'label'> => ({
  icon: new URL('/actions/icon.svg', app.config.publicUrl).href,
  title: `Rewards of ${new Date(epoch * 86_400_000).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })}`,
});

const getClaim = route({
  method: 'get',
  path: '/actions/claim/{epoch}',
  auth: 'public',
  isAction: true,
  summary: 'Read the action that claims the reward of an epoch',
  params: EpochPath,
  returns: { 200: ActionView },
  fails: [404],
  handler: async ({ app, params }) => {
    const epoch = Number(params.epoch);
    const { expiresAt, refusal } = await readClaimOffer(app, epoch);
    const until = expiresAt === null ? '' : ` until ${expiresAt} (UTC)`;
    const description = `Sends the reward of epoch ${epoch} to your wallet. Rewards can be claimed${until}. You pay the network fee.`;
    return reply(200, present({ ...claimWords(app, epoch), description, label: 'Claim reward' }, `/actions/claim/${epoch}`, refusal));
  },
});

const postClaim = route({
  method: 'post',
  path: '/actions/claim/{epoch}',
  auth: 'public',
  load: 'lookup',
  isAction: true,
  summary: 'Build the transaction that claims the reward of an epoch',
  description:
    'Returns an unsigned transaction. The account signs and sends it, and pays its fee. The transaction opens the account’s token account if there is none; the account pays that rent too. ' +
    'The service finds the claim on the chain, as any other claim. 404: the epoch does not exist or has no reward for the account. 409: the reward is claimed, or the epoch is not committed, ' +
    `settled or expired. ${LIMITS}`,
  params: EpochPath,
  body: ActionRequest,
  returns: { 200: ActionTransaction },
  fails: [404, 409, 429],
  handler: async ({ app, params, body: { account } }) => {
    const epoch = Number(params.epoch);
    await readClaimOffer(app, epoch);
    await countRequest(app, account);
    const { instructions, amount, rent } = await buildOwnClaim(app, epoch, account);
    const [transaction, decimals] = await Promise.all([encodeFor(app, account, instructions), readDecimals(app)]);
    const reward = readable(amount, 'reward', decimals);
    const cost = rent === 0n ? '' : ` Opening accounts costs ${Number(rent) / 1e9} SOL.`;
    const done = { ...claimWords(app, epoch), description: `You received ${reward}.`, label: 'Reward claimed' };
    return reply(200, presentTransaction(transaction, `You claim ${reward}.${cost}`, done));
  },
});

const getEnter = route({
  method: 'get',
  path: '/actions/rounds/{id}/enter',
  auth: 'public',
  isAction: true,
  summary: 'Read the action that buys a ticket of a legacy round',
  params: RoundPath,
  returns: { 200: ActionView },
  fails: [404],
  handler: async ({ app, params: { id } }) => {
    const { title, description, price, card, refusal } = await readTicketOffer(app, id);
    return reply(200, present({ icon: card, title, description, label: `Enter for ${price}` }, `/actions/rounds/${id}/enter`, refusal));
  },
});

const postEnter = route({
  method: 'post',
  path: '/actions/rounds/{id}/enter',
  auth: 'public',
  load: 'lookup',
  isAction: true,
  summary: 'Build the transaction that buys a ticket of a legacy round',
  description:
    'Returns an unsigned transaction that pays the price of a ticket to the treasury. The account signs and sends it, and pays its fee. No session is needed: the service finds the payment on the chain and ' +
    'records the ticket within seconds. A payment that is late, or that arrives when all tickets are taken, is refunded. 403: the account does not meet the entry rules, is banned, or may not buy tickets; the ' +
    `message begins with the rule. 409: the round sells no ticket, or the account does not hold the price. ${LIMITS}`,
  params: RoundPath,
  body: ActionRequest,
  returns: { 200: ActionTransaction },
  fails: [403, 404, 409, 429],
  handler: async ({ app, params: { id }, body: { account } }) => {
    const { title, price, card } = await readTicketOffer(app, id);
    await countRequest(app, account);
    const transaction = await encodeFor(app, account, await buildTicketPurchase(app, id, account));
    const done = { icon: card, title, description: 'You paid. Your ticket counts as soon as the payment is finalized.', label: 'Ticket paid' };
    return reply(200, presentTransaction(transaction, `You pay ${price} for one ticket of ${title}.`, done));
  },
});

/** The endpoints of Solana Actions. Anybody may call them, from pages of any origin. */
export const actionRoutes = { public: [getActionsFile, getIcon, getClaim, postClaim, getEnter, postEnter] };
