import { reply, route } from '#platform/http/route.ts';
import { acceptTerms, readTerms } from './accepted-terms.ts';
import { exclude, readExclusion } from './exclusion.ts';
import { ExclusionRequest, ExclusionView, TermsAcceptance, TermsView } from './schemas.ts';

export const getExclusion = route({
  method: 'get',
  path: '/me/exclusion',
  auth: 'session',
  forBanned: true,
  summary: 'The caller’s self-exclusion',
  returns: { 200: ExclusionView },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readExclusion(app.db, wallet)),
});

export const postExclusion = route({
  method: 'post',
  path: '/me/exclusion',
  auth: 'session',
  forBanned: true,
  summary: 'Exclude the caller from paid rounds and from rounds with prizes in stablecoin',
  description:
    'The request names `until` or `days`. Until then, paid tickets and entries in chat rounds with prizes in stablecoin are refused (403), and a payment that arrives is refunded. ' +
    'Nobody can end an exclusion early, but the caller can prolong it: an earlier end is 409.',
  body: ExclusionRequest,
  returns: { 200: ExclusionView },
  fails: [409],
  idempotent: true,
  handler: async ({ wallet, body, once }) => await once(async (tx) => reply(200, await exclude(tx, wallet, body))),
});

export const getTerms = route({
  method: 'get',
  path: '/me/terms',
  auth: 'session',
  summary: 'The current terms of paid rounds, and whether the caller accepted them',
  returns: { 200: TermsView },
  fails: [],
  handler: async ({ app, wallet }) => reply(200, await readTerms(app, app.db, wallet)),
});

export const postTerms = route({
  method: 'post',
  path: '/me/terms',
  auth: 'session',
  summary: 'Accept the current terms of paid rounds',
  description:
    'A paid ticket needs the acceptance of the current version. 409: the version is not the current one, or the service has no terms. A repeated request changes nothing.',
  body: TermsAcceptance,
  returns: { 200: TermsView },
  fails: [409],
  handler: async ({ app, wallet, body }) => reply(200, await app.tx((tx) => acceptTerms(app, tx, wallet, body.version))),
});

/** The endpoints by which a wallet limits or allows its own payments. */
export const restrictionRoutes = [getExclusion, postExclusion, getTerms, postTerms];
