import { createHash } from 'node:crypto';
import helmet from 'helmet';
import type Koa from 'koa';
import type { Config } from '#config';

/** Sets headers of a response. */
type SetHeaders = (ctx: Koa.Context) => Promise<void>;

/** Sources of a directive of the Content-Security-Policy. */
type Directives = Readonly<Record<'scriptSrc' | 'styleSrc' | 'imgSrc' | 'fontSrc' | 'connectSrc' | 'formAction', string[]>> & {
  readonly workerSrc?: string[];
};

/** Value of the header Strict-Transport-Security of every response when `PUBLIC_URL` is https: browsers use only https for a year. */
export const STRICT_TRANSPORT = 'max-age=31536000; includeSubDomains';

const NONE = ["'none'"];
const SELF = ["'self'"];

function headersOf(config: Pick<Config, 'publicUrl'>, directives: Directives): SetHeaders {
  const isTls = config.publicUrl.protocol === 'https:';
  const secure = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: NONE, ...directives, baseUri: SELF, frameAncestors: NONE, ...(isTls ? { upgradeInsecureRequests: [] } : {}) },
    },
    xFrameOptions: { action: 'deny' },
    // `app.ts` sets this header on every response.
    strictTransportSecurity: false,
  });
  return (ctx) =>
    new Promise((resolve, reject) => {
      secure(ctx.req, ctx.res, (error) => (error ? reject(error) : resolve()));
    });
}

/**
 * Returns a function that sets the security headers of an HTML page: no resources from other origins, no inline scripts, no framing. JSON responses
 * do not get these headers, because browsers do not render JSON, and setting the headers with helmet takes longer than sending a small response.
 * @param inlineStyles whether the page may have inline styles, which pages of third-party libraries need
 */
export const pageHeaders = (config: Config, { inlineStyles }: { inlineStyles: boolean }): SetHeaders =>
  headersOf(config, {
    scriptSrc: SELF,
    styleSrc: [...SELF, ...(inlineStyles ? ["'unsafe-inline'"] : [])],
    imgSrc: [...SELF, 'data:'],
    fontSrc: SELF,
    connectSrc: SELF,
    formAction: SELF,
  });

/**
 * Returns a function that sets the security headers of a page without scripts, forms and files of its own, except images of this service.
 * @param styles the text of the only style element of the page
 */
export const pageOnlyHeaders = (config: Config, styles: string): SetHeaders =>
  headersOf(config, {
    scriptSrc: NONE,
    styleSrc: [`'sha256-${createHash('sha256').update(styles).digest('base64')}'`],
    imgSrc: [...SELF, config.publicUrl.origin],
    fontSrc: NONE,
    connectSrc: NONE,
    formAction: NONE,
  });

/**
 * Permissions that a page of the arcade needs besides scripts, styles, fonts and answers of this service.
 * - `plain`: none.
 * - `play`: runs WebAssembly, for the simulations of games.
 * - `check`: runs WebAssembly in a web worker, and connects to the RPC node that the visitor names. The policy cannot know this node, so it allows
 *   every https host, and http on the visitor's own machine.
 */
export type WebPolicy = 'plain' | 'play' | 'check';

const WASM = "'wasm-unsafe-eval'";
const NODES = ['https:', 'http://localhost:*', 'http://127.0.0.1:*'];

/** Returns a function that sets the security headers of a page of the arcade: no inline scripts or styles, no framing. */
export const webHeaders = (config: Pick<Config, 'publicUrl'>, policy: WebPolicy): SetHeaders =>
  headersOf(config, {
    scriptSrc: policy === 'plain' ? SELF : [...SELF, WASM],
    styleSrc: SELF,
    // Icons of wallets are data URLs.
    imgSrc: [...SELF, 'data:'],
    fontSrc: SELF,
    connectSrc: policy === 'check' ? [...SELF, ...NODES] : SELF,
    formAction: NONE,
    workerSrc: policy === 'check' ? SELF : NONE,
  });
