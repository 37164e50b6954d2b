import { computed, effect, signal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { matchPath } from '../../../src/lib/path-pattern.ts';
import type { PageRoute, Params } from './page-route.ts';

/** The path and the query of the shown page. */
export const path = signal(location.pathname);
export const query = signal(new URLSearchParams(location.search));
const routes = signal<readonly PageRoute[]>([]);
const found = computed(() => findPage(path.value));

function findPage(path: string): { page: PageRoute; params: Params } | null {
  for (const page of routes.value) {
    const params = matchPath(page.path, path);
    if (params) return { page, params };
  }
  return null;
}

/** A page that is loaded, or the reason why it is not. */
type Shown = { readonly Page: ComponentType<{ params: Params }>; readonly params: Params } | 'loading' | 'unknown' | 'failed';

/** The content of the page area. The last page stays until the next one is loaded. */
export const shown = signal<Shown>('loading');
export const attempt = signal(0);

function followLocation(): void {
  path.value = location.pathname;
  query.value = new URLSearchParams(location.search);
}

/** Shows another page of the arcade. Loads a new document where the page needs another Content-Security-Policy. */
export function navigate(url: string): void {
  const target = new URL(url, location.href);
  const next = findPage(target.pathname)?.page;
  if (target.origin !== location.origin || !next || next.policy !== found.value?.page.policy) {
    location.assign(target);
    return;
  }
  history.pushState(null, '', target);
  followLocation();
  scrollTo(0, 0);
}

/** Changes the query of the shown page without a new entry in the history. */
export function replaceQuery(values: Readonly<Record<string, string | null>>): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  history.replaceState(null, '', url);
  followLocation();
}

/** A link to a page of the arcade. It works like any link; a plain click shows the page without loading a document. */
export function Link({ href, children, ...rest }: JSX.IntrinsicElements['a'] & { href: string }) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a {...rest} href={href} onClick={follow}>
      {children}
    </a>
  );
}

/** Follows the address of the browser: loads the module of each page, sets the title, and moves the focus to the new page for screen readers. */
export function startRouter(pages: readonly PageRoute[]): void {
  routes.value = pages;
  addEventListener('popstate', followLocation);
  let first = true;
  effect(() => {
    attempt.value;
    const target = found.value;
    const isFirst = first;
    first = false;
    if (!target) {
      shown.value = 'unknown';
      return;
    }
    void show(target.page, target.params, isFirst);
  });
}

async function show(page: PageRoute, params: Params, isFirst: boolean): Promise<void> {
  try {
    const { default: Page } = await page.load();
    // The visitor may have gone on to another page meanwhile.
    if (found.value?.page !== page || found.value.params !== params) return;
    shown.value = { Page, params };
    if (isFirst) return;
    document.title = page.title === 'Coinop' ? page.title : `${page.title} · Coinop`;
    document.getElementById('main')?.focus({ preventScroll: true });
  } catch {
    if (found.value?.page === page) shown.value = 'failed';
  }
}
