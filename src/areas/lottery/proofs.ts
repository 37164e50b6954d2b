import type { Entry, EntryProof } from '#lib/draw/entry.ts';
import { fail } from '#lib/errors.ts';
import { instant, type Queryable, statement } from '#platform/db/sql.ts';
import { type Glance, noRound, notThere } from './published.ts';
import type { RoundKind } from './rows.ts';

/** An entry with what proves that it is under its round's root. Nothing of it ever changes. */
export interface ProvedEntry extends EntryProof {
  readonly entry: Entry & { readonly id: string };
  readonly index: number;
  readonly root: string;
}

interface ProofRow extends Pick<Glance, 'state' | 'voidReason' | 'root'> {
  entry: ProvedEntry['entry'] | null;
  leaf: string | null;
  /** By level; empty where a node has no sibling. */
  siblings: string[] | null;
}

// Of each level only 32 bytes are read: they lie outside the row, uncompressed.
const selectProof = statement<ProofRow>(
  'select_entry_proof',
  `select r.state, r.void_reason as "voidReason", encode(r.root, 'hex') as root,
     case when e.id is not null then json_build_object('id', e.id, 'index', e.index, 'wallet', e.wallet, 'numbers', e.numbers, 'source', e.source,
       'messageId', e.message_id, 'at', ${instant('e.at')}) end as entry,
     (select encode(substring(l.nodes from 32 * e.index + 1 for 32), 'hex') from round_levels l where l.round = r.id and l.level = 0) as leaf,
     (select array_agg(encode(substring(l.nodes from 32 * ((e.index >> l.level) # 1) + 1 for 32), 'hex') order by l.level)
      from round_levels l where l.round = r.id) as siblings
   from rounds r left join entries e on e.round = r.id and e.id = $3 where r.id = $1 and r.kind = $2`,
);

/**
 * The proof of an entry.
 * @throws 404 no such round, no such entry of it, or one that is not frozen
 */
export async function readEntryProof(db: Queryable, kind: RoundKind, id: string, entryId: string): Promise<ProvedEntry> {
  const row = (await db.query(selectProof, [id, kind, entryId]))[0];
  if (!row) throw noRound(kind, id);
  const { entry, leaf, siblings, root, voidReason } = row;
  if (entry === null) throw fail(404, `round ${id} has no entry ${entryId}`);
  // Of a round whose entries are others now, the tree does not lead to the root that was committed to.
  if (root === null || leaf === null || siblings === null || voidReason === 'entries-differ')
    throw notThere({ id, ...row }, 'proofs', 'as soon as its entries are frozen');
  return { entry, index: entry.index, leaf, proof: siblings.filter((sibling) => sibling !== ''), root };
}
