import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type BuildResult, build } from 'esbuild';
import { chromium } from 'playwright-core';
import { installedChromium } from '#dev/stack/chromium.ts';
import { listen } from './served-world.ts';

const PACKAGE = join(import.meta.dirname, '../../../packages/verify');

/** Bundles packages/verify for browsers. The build fails when the package or a dependency imports a part of Node. */
export const bundleForBrowsers = (): Promise<BuildResult<{ write: false; metafile: true }>> =>
  build({
    ...{ entryPoints: [join(PACKAGE, 'src/index.ts')], absWorkingDir: join(PACKAGE, '../..') },
    ...{ bundle: true, format: 'esm', platform: 'browser', target: 'es2022', minify: true },
    ...{ write: false, metafile: true, logLevel: 'silent' },
  });

/** The content of packages/verify/example.html after a verification. */
export interface ShownVerification {
  readonly verdict: string;
  readonly steps: readonly string[];
  readonly ms: number;
}

/** Chromium, which verifies rounds in the page packages/verify/example.html. */
export interface VerifyingBrowser {
  /** @param query the parameters of the page */
  verify(query: Readonly<Record<string, string>>): Promise<ShownVerification>;
  close(): Promise<void>;
}

/** Starts Chromium and serves the page. The origin of the page is another one than that of the house and of the node. */
export async function openBrowser(): Promise<VerifyingBrowser> {
  const { outputFiles } = await bundleForBrowsers();
  const files: Readonly<Record<string, { readonly type: string; readonly content: string }>> = {
    '/': { type: 'text/html', content: readFileSync(join(PACKAGE, 'example.html'), 'utf8') },
    '/verify.js': { type: 'text/javascript', content: outputFiles[0]?.text ?? '' },
  };
  const server = createServer((request, response) => {
    const file = files[new URL(request.url ?? '/', 'http://page').pathname];
    response.writeHead(file ? 200 : 404, { 'content-type': `${file?.type ?? 'text/plain'}; charset=utf-8` }).end(file?.content);
  });
  // The sandbox of Chromium does not work for root.
  const browser = await chromium.launch({ executablePath: installedChromium(), chromiumSandbox: process.getuid?.() !== 0 });
  const url = await listen(server);

  async function verify(query: Readonly<Record<string, string>>): Promise<ShownVerification> {
    const page = await browser.newPage();
    const errors: Error[] = [];
    page.on('pageerror', (error) => errors.push(error));
    try {
      await page.goto(`${url}/?${new URLSearchParams(query)}`);
      await page.locator('#verdict:not(:empty)').waitFor({ timeout: 60_000 });
      const [verdict, time] = await Promise.all(['#verdict', '#time'].map((id) => page.locator(id).textContent()));
      return { verdict: verdict ?? '', steps: await page.locator('#steps li').allTextContents(), ms: Number.parseInt(time ?? '', 10) };
    } catch (error) {
      throw new AggregateError([...errors, error], 'the page shows no verdict');
    } finally {
      await page.close();
    }
  }
  return {
    verify,
    async close() {
      await browser.close();
      server.close();
    },
  };
}
