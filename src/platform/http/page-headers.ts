import helmet from 'helmet';
import type Koa from 'koa';
import type { Config } from '#config';

/**
 * Returns a function that sets the security headers of an HTML page: no resources from other origins, no inline scripts, no framing. JSON responses
 * do not get these headers, because browsers do not render JSON, and setting the headers with helmet takes longer than sending a small response.
 * @param inlineStyles whether the page may have inline styles, which pages of third-party libraries need
 */
export function pageHeaders(config: Config, { inlineStyles }: { inlineStyles: boolean }): (ctx: Koa.Context) => Promise<void> {
  const isTls = config.publicUrl.protocol === 'https:';
  const secure = helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'", ...(inlineStyles ? ["'unsafe-inline'"] : [])],
        imgSrc: ["'self'", 'data:'],
        fontSrc: ["'self'"],
        connectSrc: ["'self'"],
        baseUri: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        ...(isTls ? { upgradeInsecureRequests: [] } : {}),
      },
    },
    xFrameOptions: { action: 'deny' },
    strictTransportSecurity: isTls,
  });
  return (ctx) =>
    new Promise((resolve, reject) => {
      secure(ctx.req, ctx.res, (error) => (error ? reject(error) : resolve()));
    });
}
