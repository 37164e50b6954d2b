import type Koa from 'koa';
import type { AdminToken } from '#config';
import { fail } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { matchToken } from './admin-tokens.ts';
import { checkSameOrigin } from './origin.ts';
import { WrongToken } from './wrong-tokens.ts';

/**
 * Returns the admin token that the request sends as the password of HTTP Basic. The user name is ignored. Browsers send these credentials
 * automatically. Therefore a request with an unsafe method (POST, PUT, PATCH, DELETE) must come from a page of this service, and the CORS headers are
 * removed, so that pages of other origins cannot read the response.
 * @throws 401 with `WWW-Authenticate` when the password is missing or wrong, 403 for an unsafe method from another origin
 */
export function requireBasic(app: App, ctx: Koa.Context): AdminToken {
  ctx.remove('Access-Control-Allow-Origin');
  ctx.remove('Access-Control-Allow-Credentials');
  const credentials = /^Basic ([A-Za-z0-9+/]+=*)$/i.exec(ctx.get('Authorization'))?.[1] ?? '';
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  const token = text.includes(':') ? matchToken(app, app.config.adminTokens, text.slice(text.indexOf(':') + 1)) : null;
  if (!token) {
    const message = 'Authorization must be HTTP Basic with an admin token as the password';
    const headers = { 'WWW-Authenticate': 'Basic realm="Coinop", charset="UTF-8"' };
    throw credentials === '' ? fail(401, message, headers) : new WrongToken(401, message, headers);
  }
  checkSameOrigin(app.config, ctx);
  return token;
}
