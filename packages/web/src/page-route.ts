import type { ComponentType } from 'preact';

/** The parameters in the path of a page. */
export type Params = Readonly<Record<string, string>>;

/** The module of a page. */
export interface PageModule {
  readonly default: ComponentType<{ params: Params }>;
}

/** A page: its path with parameters in braces, its title, and its module, which the browser loads when the page is first shown. */
export interface PageRoute {
  readonly path: string;
  readonly title: string;
  /** Group of the Content-Security-Policy, as in src/areas/web. A link to a page of another group loads the document, because a policy belongs to a document. */
  readonly policy: 'plain' | 'play' | 'check';
  load(): Promise<PageModule>;
}
