import type Koa from 'koa';
import type { Config } from '#config';
import type { AnyRoute } from './route.ts';

/** Version of the specification of Solana Actions that this service implements. */
const VERSION = '2.4';

/** Ids of the chains (CAIP-2): `solana:` and the first 32 characters of the genesis hash. The genesis hash of a local cluster differs at each start. */
const CHAIN_IDS: Readonly<Record<Config['signIn']['chain'], string>> = {
  mainnet: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp',
  testnet: 'solana:4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z',
  devnet: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  localnet: 'solana:localnet',
};

/**
 * Koa middleware: sets the headers that the specification of Solana Actions demands for the paths of actions, answers their OPTIONS requests, and sets
 * `ctx.state.isAction`. The headers let pages of any origin read the responses. They never allow credentials.
 */
export function actionHeaders({ signIn }: Pick<Config, 'signIn'>, routes: readonly AnyRoute[]): Koa.Middleware {
  const paths = routes.filter(({ isAction }) => isAction).map(({ path }) => patternOf(path));
  const headers = {
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': 'GET, POST, PUT, OPTIONS',
    'Access-Control-Allow-Headers':
      'Content-Type, Authorization, Content-Encoding, Accept-Encoding, X-Accept-Action-Version, X-Accept-Blockchain-Ids',
    'Access-Control-Expose-Headers': 'X-Action-Version, X-Blockchain-Ids, Retry-After, X-Request-Id',
    'X-Action-Version': VERSION,
    'X-Blockchain-Ids': CHAIN_IDS[signIn.chain],
  };
  return async (ctx, next) => {
    if (!paths.some((pattern) => pattern.test(ctx.path))) return await next();
    ctx.state.isAction = true;
    ctx.set(headers);
    if (ctx.method !== 'OPTIONS') return await next();
    ctx.set('Access-Control-Max-Age', '600');
    ctx.status = 204;
  };
}

/** Returns the pattern of the paths of a route. */
const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
