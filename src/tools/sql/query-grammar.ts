import { SqlRefusal } from './query-rules.ts';

/** The fields of a node of PostgreSQL's syntax tree. */
export type Fields = Readonly<Record<string, unknown>>;

/** Called with an allowed node. */
export type VisitNode = (kind: string, fields: Fields) => void;

/** Visits the nodes directly below a node, and refuses a field that is not allowed in a query. */
export function visitChildren(kind: string, fields: Fields, visit: VisitNode): void {
  const known = grammar.get(kind);
  if (!known) throw new SqlRefusal('Query not allowed', `A query cannot hold ${describe(kind)}.`);
  for (const [field, value] of Object.entries(fields)) {
    const meaning = known.get(field);
    if (meaning === undefined)
      throw new SqlRefusal('Query not allowed', `A query cannot hold ${describe(`${kind}.${field}`)}.`);
    if (meaning === 'nodes') visitValue(value, visit);
    else if (meaning !== 'plain') visit(meaning, value as Fields);
  }
}

/** Visits a node wrapped in its kind, or a list of such nodes. */
export function visitValue(value: unknown, visit: VisitNode): void {
  if (Array.isArray(value)) {
    for (const item of value) visitValue(item, visit);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [kind, fields] of Object.entries(value)) visit(kind, fields as Fields);
}

/** The names in a list of name nodes; a star is `*`. */
export function namesIn(list: unknown): string[] {
  const names: string[] = [];
  visitValue(list, (kind, fields) => {
    if (kind === 'String') names.push((fields['sval'] as string | undefined) ?? '');
    else names.push(kind === 'A_Star' ? '*' : '');
  });
  return names;
}

// One line per kind of node: its fields with nodes, those with nodes of a fixed kind, and after the bar those with
// plain values. Everything else is refused: locking, INTO, catalogs, table samples, XML and JSON constructors, and
// whatever a later PostgreSQL adds.
const grammar = readGrammar(`
SelectStmt: distinctClause targetList fromClause whereClause groupClause havingClause windowClause valuesLists sortClause limitOffset limitCount withClause=WithClause larg=SelectStmt rarg=SelectStmt | groupDistinct limitOption op all
WithClause: ctes | recursive
CommonTableExpr: ctequery | ctename aliascolnames ctematerialized
ResTarget: val | name
RangeVar: alias=Alias | schemaname relname inh relpersistence
RangeSubselect: subquery alias=Alias | lateral
RangeFunction: functions alias=Alias | lateral ordinality is_rowsfrom
JoinExpr: larg rarg quals alias=Alias join_using_alias=Alias | jointype isNatural usingClause rtindex
Alias: | aliasname colnames
ColumnRef: | fields
ParamRef: | number
A_Const: | ival fval boolval sval bsval isnull
A_Expr: lexpr rexpr | kind name
A_ArrayExpr: elements |
A_Indirection: arg indirection |
A_Indices: lidx uidx | is_slice
BoolExpr: args | boolop
BooleanTest: arg | booltesttype
NullTest: arg | nulltesttype argisrow
CaseExpr: arg args defresult |
CaseWhen: expr result |
CoalesceExpr: args |
MinMaxExpr: args | op
RowExpr: args | row_format
SubLink: testexpr subselect | subLinkType operName
FuncCall: args agg_order agg_filter over=WindowDef | funcname agg_within_group agg_star agg_distinct func_variadic funcformat
WindowDef: partitionClause orderClause startOffset endOffset | name refname frameOptions
SortBy: node | sortby_dir sortby_nulls
GroupingSet: content | kind
GroupingFunc: args |
TypeCast: arg typeName=TypeName |
TypeName: typmods | names typemod arrayBounds
CollateClause: arg | collname
SQLValueFunction: | op typmod
List: items |
`);

type Meaning = string;

function readGrammar(text: string): ReadonlyMap<string, ReadonlyMap<string, Meaning>> {
  const everywhere = 'location list_start list_end rexpr_list_start rexpr_list_end';
  return new Map(
    text
      .trim()
      .split('\n')
      .map((line) => {
        const [kind = '', rest = ''] = line.split(':');
        const [nodes = '', plain = ''] = rest.split('|');
        const fields = new Map<string, Meaning>();
        for (const word of split(nodes)) {
          const [field = '', fixed = 'nodes'] = word.split('=');
          fields.set(field, fixed);
        }
        for (const field of split(`${plain} ${everywhere}`)) fields.set(field, 'plain');
        return [kind, fields];
      }),
  );
}

function split(text: string): string[] {
  return text.split(' ').filter((word) => word !== '');
}

const descriptions: Readonly<Record<string, string>> = {
  'SelectStmt.intoClause': 'INTO',
  'SelectStmt.lockingClause': 'FOR UPDATE or another lock',
  'RangeVar.catalogname': 'the name of a database',
  'RangeFunction.coldeflist': 'a list of column definitions',
  'CommonTableExpr.search_clause': 'SEARCH',
  'CommonTableExpr.cycle_clause': 'CYCLE',
  'SortBy.useOp': 'ORDER BY ... USING',
  'TypeName.setof': 'SETOF',
  'TypeName.pct_type': '%TYPE',
  RangeTableSample: 'TABLESAMPLE',
  NamedArgExpr: 'arguments by name',
  InsertStmt: 'INSERT',
  UpdateStmt: 'UPDATE',
  DeleteStmt: 'DELETE',
  MergeStmt: 'MERGE',
  XmlExpr: 'XML expressions',
  XmlSerialize: 'XML expressions',
};

function describe(what: string): string {
  return descriptions[what] ?? `this kind of syntax (${what})`;
}
