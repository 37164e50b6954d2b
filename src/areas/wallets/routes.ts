import { fail } from '#lib/errors.ts';
import { reply, route } from '#platform/http/route.ts';
import { PRICE_FRESH_MS, solPrice } from '#platform/solana/price.ts';
import { holdingOf } from '#platform/solana/token-gate.ts';
import { readIdentifier, resolveIdentifier } from './identifiers.ts';
import { Eligibility, ResolvedWallet, ResolveRequest, SolPrice } from './schemas.ts';

/** How long a price may be kept that is older than it should be, seconds. */
const STALE_MAX_AGE_SEC = 5;

const eligibility = route({
  method: 'get',
  path: '/eligibility',
  auth: 'session',
  summary: 'Whether the caller holds enough of the token',
  description:
    'What the token gate goes by. The balance is at most 30 seconds old; while the chain cannot be asked, at most 10 minutes, as `checkedAt` tells. 503 where it is not known, or no token is configured.',
  returns: { 200: Eligibility },
  fails: [],
  handler: async ({ app, wallet }) => {
    const { eligible, balance, minimum, mint, at } = await holdingOf(app, wallet);
    return reply(200, { eligible, tokenBalance: balance.toString(), minimum: minimum.toString(), mint, checkedAt: at.toISOString() });
  },
});

const price = route({
  method: 'get',
  path: '/api/price/sol',
  auth: 'public',
  summary: 'The price of SOL in USD',
  description: 'At most 30 seconds old; while its source fails, at most 10 minutes. 503 where there is none.',
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
  auth: 'public',
  summary: 'The wallet behind an address, a name or a handle',
  description: `Names are read from the chain, at finality; an answer is at most 15 seconds old. A name that its registry keeps wrapped in a token leads to who holds the token; else to what its valid SOL record names; else to its owner. \`.sns\` names are those of the Solana Name Service. \`.sol\` names moved from it to the Solana Record Service: such a name must lead to the same wallet by both.

404 says why there is no wallet that money may be sent to: no such name or handle; it has expired; it is held by a program, such as a market; its records contradict each other.`,
  body: ResolveRequest,
  returns: { 200: ResolvedWallet },
  fails: [404],
  handler: async ({ app, body }) => {
    const identifier = readIdentifier(body.identifier);
    if ('wrong' in identifier) throw fail(400, `identifier ${identifier.wrong}`);
    return reply(200, { identifier: body.identifier, source: identifier.source, ...(await resolveIdentifier(app, identifier)) });
  },
});

/** What wallets hold, what they are called, and what SOL is worth. */
export const walletRoutes = { public: [price, resolve], session: [eligibility] };
