import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { PRICE_FRESH_MS, solPrice } from '#platform/solana/price.ts';
import { readHolding } from '#platform/solana/token-gate.ts';
import { parseIdentifier, resolveIdentifier } from './identifiers.ts';
import { chooseName, readOwnName, requireOwnName } from './names.ts';
import { Eligibility, OwnName, OwnNameRequest, ResolvedWallet, ResolveRequest, SolPrice } from './schemas.ts';

/** Minimum `max-age` of a price response, seconds. Caches use this value when the price is already stale. */
const STALE_MAX_AGE_SEC = 5;

const eligibility = route({
  method: 'get',
  path: '/eligibility',
  auth: 'session',
  load: 'lookup',
  summary: 'Read whether the caller holds enough of the token',
  description:
    'The values that the token gate uses. The balance is at most 30 seconds old, or at most 10 minutes while the RPC node fails; `checkedAt` is the time at which it was read. 503 when the balance is unknown, or no token is configured.',
  returns: { 200: Eligibility },
  fails: [],
  handler: async ({ app, wallet }) => {
    const { eligible, balance, minimum, mint, at } = await readHolding(app, wallet);
    return reply(200, { eligible, tokenBalance: balance.toString(), minimum: minimum.toString(), mint, checkedAt: at.toISOString() });
  },
});

const price = route({
  method: 'get',
  path: '/api/price/sol',
  auth: 'public',
  load: 'lookup',
  summary: 'Read the price of SOL in USD',
  description:
    'The price is at most 30 seconds old, or at most 10 minutes while its source fails. 503 when no price of the last 10 minutes is known.',
  returns: { 200: SolPrice },
  fails: [],
  cache: `public, max-age=${STALE_MAX_AGE_SEC}`,
  handler: async ({ app }) => {
    const { value, at } = await solPrice(app);
    const freshSec = Math.floor((at + PRICE_FRESH_MS - app.clock.now().getTime()) / 1_000);
    return reply(200, { price: value }, { 'Cache-Control': `public, max-age=${Math.max(STALE_MAX_AGE_SEC, freshSec)}` });
  },
});

const resolve = route({
  method: 'post',
  path: '/api/wallet/resolve',
  // A session gives the caller bounds of its own for look-ups; callers without a session share theirs.
  auth: 'optional',
  load: 'lookup',
  summary: 'Find the wallet of an address, a name or a handle',
  description: `Names are read from finalized accounts; a result is at most 15 seconds old. A name that is wrapped in a token resolves to the holder of the token. Any other name resolves to the wallet in its valid SOL record, or to the owner of the name when it has no valid SOL record. \`.sns\` names are names of the Solana Name Service. \`.sol\` names moved from the Solana Name Service to the Solana Record Service, so both services must resolve a \`.sol\` name to the same wallet.

404 with the reason when the identifier has no wallet that tokens can be sent to: the name or handle does not exist; the name has expired; a program, such as a market, holds the name; the records of the name contradict each other.`,
  body: ResolveRequest,
  returns: { 200: ResolvedWallet },
  fails: [404],
  handler: async ({ app, body }) => {
    const identifier = parseIdentifier(body.identifier);
    if ('error' in identifier) throw fail(400, `identifier ${identifier.error}`);
    return reply(200, { identifier: body.identifier, source: identifier.source, ...(await resolveIdentifier(app, identifier)) });
  },
});

const getName = route({
  method: 'get',
  path: '/me/name',
  auth: 'session',
  summary: 'Read the name with which lists show the caller',
  returns: { 200: OwnName },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readOwnName(app.db, wallet)),
});

const putName = route({
  method: 'put',
  path: '/me/name',
  auth: 'session',
  load: 'lookup',
  summary: 'Choose the .sol name with which lists show the caller',
  description:
    'The name must resolve to the caller’s wallet, as `POST /api/wallet/resolve` resolves it. The service checks this again every hour, and forgets a name that resolves to another wallet. Lists show the handle of a linked account in place of the name. 404 when the name has no wallet, 409 when it resolves to another wallet.',
  body: OwnNameRequest,
  returns: { 200: OwnName },
  fails: [404, 409],
  handler: async ({ app, wallet, body }) => {
    // Resolves the name before the transaction, because the RPC node may be slow.
    const name = body.solName === null ? null : await requireOwnName(app, wallet, body.solName);
    await app.tx((tx) => chooseName(tx, wallet, name));
    return reply(200, await readOwnName(app.db, wallet));
  },
});

/** The routes of token balances, wallet names and the price of SOL, by caller. */
export const walletRoutes = { public: [price, resolve], session: [eligibility, getName, putName] };
