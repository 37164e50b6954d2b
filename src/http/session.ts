import type Koa from 'koa';
import type { App } from '../context.ts';

/** Runs a request with its session read. */
export type Sessions = (ctx: Koa.Context, next: () => Promise<void>) => Promise<void>;

/** The wallet of the request's session, or null. */
export function walletOf(ctx: Koa.Context): string | null {
  return ctx.state.wallet ?? null;
}

/** Makes the session middleware of an application. */
export function openSessions(_app: App, _koa: Koa): Sessions {
  return async (_ctx, next) => next();
}
