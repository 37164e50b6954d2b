import helmet from 'helmet';
import type Koa from 'koa';
import type { Config } from '#config';

/**
 * Headers of HTML pages: nothing is loaded from elsewhere, no inline script runs, nobody frames them.
 * JSON answers go without: they are never rendered, and helmet costs more than a small answer.
 * @param inlineStyles for pages that are not ours and bring styles in their markup
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
