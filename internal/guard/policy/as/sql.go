// SPDX-License-Identifier: Apache-2.0

package as

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// A Statement is one statement of SQL, its comments taken away.
type Statement struct {
	tokens []sqlToken
}

// SQL returns the statements of text. Dialects differ: what PostgreSQL, SQLite, MySQL and SQL
// Server would cut into different tokens is an error.
func SQL(text string) ([]Statement, error) {
	tokens, err := sqlTokens(text)
	if err != nil {
		return nil, err
	}
	var statements []Statement
	from := 0
	for i := range tokens {
		if tokens[i].is(";") {
			statements = appendStatement(statements, tokens[from:i])
			from = i + 1
		}
	}
	statements = appendStatement(statements, tokens[from:])
	if slices.ContainsFunc(statements, Statement.runsText) {
		return nil, errSQLText
	}
	return statements, nil
}

var errSQLText = errors.New("it runs a text as a statement")

func appendStatement(list []Statement, tokens []sqlToken) []Statement {
	if len(tokens) == 0 {
		return list
	}
	return append(list, Statement{tokens})
}

// String returns the tokens with one blank between them, words that are not quoted in upper
// case.
func (s Statement) String() string {
	words := make([]string, len(s.tokens))
	for i, t := range s.tokens {
		words[i] = t.text
	}
	return strings.Join(words, " ")
}

// verbs change something wherever they stand: in a common table expression, behind EXPLAIN
// ANALYZE, or behind another statement, which SQL Server separates by nothing.
var verbs = []string{
	"ALTER", "ATTACH", "BACKUP", "CALL", "COPY", "CREATE", "DELETE", "DENY", "DETACH", "DROP", "EXEC", "EXECUTE", "GRANT", "INSERT", "KILL", "LOAD", "MERGE", "REINDEX", "RENAME",
	"REPLACE", "RESTORE", "REVOKE", "SHUTDOWN", "TRUNCATE", "UPDATE", "UPSERT", "VACUUM",
}

// functions are the verbs that are functions of some database too.
var functions = []string{"INSERT", "REPLACE", "TRUNCATE"}

// notVerbs are the words behind which a verb is none: FOR UPDATE, ON DELETE, DO UPDATE.
var notVerbs = []string{"FOR", "ON", "KEY", "DO", "AS", ".", "BEFORE", "AFTER", "OR", "OF"}

// inDefinitions are those of them behind which a verb is one where a statement defines another:
// CREATE PROCEDURE p AS DROP TABLE t, CREATE RULE r AS ON INSERT TO t DO DELETE FROM u.
var inDefinitions = []string{"AS", "DO"}

// Words and symbols around the name of a column. Where one stands on either side of a verb, that is
// such a name: SELECT load FROM t, ORDER BY copy DESC.
var (
	beforeColumns = []string{"SELECT", "DISTINCT", "BY", "WHERE", "AND", "OR", "NOT", "HAVING", "SET", "WHEN", ",", "(", "=", "<", ">", "+", "-", "*", "/", "|", "%"}
	afterColumns  = []string{"FROM", "AS", "IN", "IS", "LIKE", "BETWEEN", "ASC", "DESC", "AND", "OR", "LIMIT", "THEN", "ELSE", "END", ",", ")", "=", "<", ">", "!", "+", "-", "*", "/", "|", "%", ":", ""}
)

// Kinds returns what the statement does, each kind once: its first word, the verbs in it, and
// "SELECT INTO" for a SELECT that writes.
func (s Statement) Kinds() []string {
	var kinds []string
	first := s.first()
	if first != "WITH" && first != "" {
		kinds = add(kinds, first)
	}
	query := "" // the last word of SELECT and what INTO may belong to besides
	for i, t := range s.tokens {
		switch {
		case t.is("SELECT"):
			kinds, query = add(kinds, "SELECT"), t.text
		case t.is("INTO") && query == "SELECT":
			kinds = add(kinds, "SELECT INTO")
		case s.verb(i):
			kinds, query = add(kinds, t.text), t.text
		}
	}
	if len(kinds) == 0 {
		return []string{first}
	}
	return kinds
}

// verb says whether a token is a verb, and not a column, a function or part of a clause.
func (s Statement) verb(i int) bool {
	t, before, after := s.tokens[i], s.token(i-1), s.token(i+1)
	first := s.first()
	defines := slices.Contains(inDefinitions, before.text) && (first == "CREATE" || first == "ALTER" || first == "PREPARE")
	switch {
	case t.kind != sqlWord || !slices.Contains(verbs, t.text):
		return false
	case after.is("(") && slices.Contains(functions, t.text):
		return false
	case slices.Contains(notVerbs, before.text) && (!defines || after.text == "UPDATE"):
		return false
	}
	column := slices.Contains(beforeColumns, before.text) && slices.Contains(afterColumns, after.text)
	return !column || t.text == "DELETE" && after.is("FROM")
}

// runsText says whether the statement runs a text as another: what EXECUTE IMMEDIATE 'x', EXEC (@x),
// DO 'x' and PREPARE p FROM 'x' do stands in no statement.
func (s Statement) runsText() bool {
	runs := s.first() == "DO"
	for i, t := range s.tokens {
		switch {
		case t.is("EXEC") || t.is("EXECUTE") || t.is("IMMEDIATE"):
			runs = runs || s.verb(i) || t.is("IMMEDIATE")
		case t.is("PREPARE") && s.first() == "PREPARE":
			runs = runs || slices.ContainsFunc(s.tokens, func(t sqlToken) bool { return t.is("FROM") }) && !slices.ContainsFunc(s.tokens, func(t sqlToken) bool { return t.is("AS") })
		case runs && (t.kind == sqlText || t.kind == sqlName && t.text[0] == '"' || t.kind == sqlWord && t.text[0] == '@'):
			return true
		}
	}
	return false
}

// first returns the first word; brackets may stand before it.
func (s Statement) first() string {
	for _, t := range s.tokens {
		if !t.is("(") {
			return t.text
		}
	}
	return ""
}

func (s Statement) token(i int) sqlToken {
	if i < 0 || i >= len(s.tokens) {
		return sqlToken{}
	}
	return s.tokens[i]
}

// bounded are the statements that answer with no rows of a table.
var bounded = []string{
	"ALTER", "ANALYZE", "ATTACH", "BEGIN", "COMMENT", "COMMIT", "CREATE", "DELETE", "DESC", "DESCRIBE", "DETACH", "DROP", "END", "EXPLAIN", "GRANT", "INSERT",
	"LOCK", "MERGE", "PRAGMA", "REINDEX", "RELEASE", "RENAME", "REPLACE", "RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SET", "SHOW", "START", "TRUNCATE", "UPDATE",
	"USE", "VACUUM",
}

// Unbounded says whether the statement may answer with more rows than most. A limit counts at the
// outermost level, as a plain number. What is not known to be bounded is not.
func (s Statement) Unbounded(most uint64) bool {
	tokens := s.withoutCTEs()
	if len(tokens) == 0 {
		return true
	}
	switch first := tokens[0].text; {
	case tokens[0].is("("), first == "SELECT", first == "TABLE", first == "FROM", first == "VALUES":
		return s.answersMore() || unboundedQuery(tokens, most)
	case slices.Contains(bounded, first):
		return answersRows(first, tokens)
	default:
		return true
	}
}

// answersMore says whether something behind a query answers with rows of its own, as in SQL Server,
// which separates statements by nothing.
func (s Statement) answersMore() bool {
	written := false
	for i, t := range s.tokens {
		switch {
		case t.is("EXEC") || t.is("EXECUTE") || t.is("CALL"):
			if s.verb(i) {
				return true
			}
		case t.is("OUTPUT") && written:
			return true
		}
		written = written || s.verb(i)
	}
	return false
}

// withoutCTEs returns the tokens behind WITH name AS (…), ….
func (s Statement) withoutCTEs() []sqlToken {
	if !s.token(0).is("WITH") {
		return s.tokens
	}
	depth := 0
	for i, t := range s.tokens {
		depth += t.depth()
		if depth == 0 && i > 0 && slices.Contains([]string{"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "TABLE", "REPLACE"}, t.text) && t.kind == sqlWord {
			return s.tokens[i:]
		}
		if depth == 0 && t.is(")") && s.token(i+1).is("(") { // WITH x AS (…) (SELECT …)
			return s.tokens[i+1:]
		}
	}
	return nil
}

// answersRows says whether a statement that changes something answers with rows after all: by
// RETURNING or OUTPUT, or because a SELECT follows that is no part of it.
func answersRows(first string, tokens []sqlToken) bool {
	mayQuery := slices.Contains([]string{"INSERT", "REPLACE", "CREATE", "EXPLAIN", "MERGE"}, first)
	depth, selects, values := 0, 0, false
	for i, t := range tokens {
		if depth += t.depth(); depth > 0 || t.kind != sqlWord {
			continue
		}
		switch t.text {
		case "RETURNING", "OUTPUT":
			return true
		case "VALUES":
			values = true
		case "UNION", "INTERSECT", "EXCEPT":
			selects--
		case "SELECT":
			selects++
			if !mayQuery || values || selects > 1 || i == 0 {
				return true
			}
		}
	}
	return false
}

// unboundedQuery judges a query: the limit behind its last branch holds for all of them; without
// one each branch is judged.
func unboundedQuery(tokens []sqlToken, most uint64) bool {
	branches := splitBranches(tokens)
	last := branches[len(branches)-1]
	if limited(last, most) && countSelects(last) <= 1 {
		return false
	}
	for _, branch := range branches {
		if unboundedBranch(branch, most) {
			return true
		}
	}
	return false
}

// splitBranches cuts a query at UNION and its like, at the outermost level.
func splitBranches(tokens []sqlToken) (branches [][]sqlToken) {
	depth, from := 0, 0
	for i, t := range tokens {
		depth += t.depth()
		if depth == 0 && t.kind == sqlWord && slices.Contains([]string{"UNION", "INTERSECT", "EXCEPT", "MINUS"}, t.text) {
			branches = append(branches, tokens[from:i])
			from = i + 1
			if from < len(tokens) && (tokens[from].is("ALL") || tokens[from].is("DISTINCT")) {
				from++
			}
		}
	}
	return append(branches, tokens[min(from, len(tokens)):])
}

func countSelects(tokens []sqlToken) (n int) {
	depth := 0
	for _, t := range tokens {
		if depth += t.depth(); depth == 0 && t.is("SELECT") {
			n++
		}
	}
	return n
}

func unboundedBranch(tokens []sqlToken, most uint64) bool {
	switch {
	case len(tokens) == 0 || countSelects(tokens) > 1:
		return true
	case limited(tokens, most):
		return false
	case tokens[0].is("("):
		end := closing(tokens)
		return end != len(tokens)-1 || unboundedQuery(tokens[1:end], most)
	case tokens[0].is("VALUES"):
		return false // the rows stand in the statement
	case !tokens[0].is("SELECT"):
		return true
	}
	return !topped(tokens[1:], most) && !oneRow(tokens[1:])
}

// closing returns where the bracket that tokens begin with is closed, 0 when it is not.
func closing(tokens []sqlToken) int {
	depth := 0
	for i, t := range tokens {
		if depth += t.depth(); depth == 0 {
			return i
		}
	}
	return 0
}

// limited says whether a branch ends with LIMIT n or FETCH FIRST n ROWS ONLY.
func limited(tokens []sqlToken, most uint64) bool {
	depth := 0
	for i := range tokens {
		depth += tokens[i].depth()
		if depth != 0 || i == 0 || tokens[i].kind != sqlWord {
			continue
		}
		rest := tokens[i+1:]
		switch tokens[i].text {
		case "LIMIT":
			return limitClause(rest, most)
		case "FETCH":
			return fetchClause(rest, most)
		}
	}
	return false
}

// limitClause reads "n", "offset, n", "n OFFSET m" up to the end.
func limitClause(tokens []sqlToken, most uint64) bool {
	n, rest, ok := count(tokens)
	if ok && len(rest) > 0 && rest[0].is(",") {
		n, rest, ok = count(rest[1:])
	}
	if ok && len(rest) > 1 && rest[0].is("OFFSET") {
		rest = rest[2:]
	}
	return ok && n <= most && ends(rest)
}

// fetchClause reads "FIRST [n] ROWS ONLY".
func fetchClause(tokens []sqlToken, most uint64) bool {
	if len(tokens) < 3 || !tokens[0].is("FIRST") && !tokens[0].is("NEXT") {
		return false
	}
	n, rest, ok := count(tokens[1:])
	if !ok {
		n, rest = 1, tokens[1:]
	}
	return n <= most && len(rest) >= 2 && (rest[0].is("ROW") || rest[0].is("ROWS")) && rest[1].is("ONLY") && ends(rest[2:])
}

// ends says whether a query ends here, but for the locks that it takes.
func ends(rest []sqlToken) bool { return len(rest) == 0 || rest[0].is("FOR") || rest[0].is("LOCK") }

// topped says whether a branch begins with TOP n.
func topped(tokens []sqlToken, most uint64) bool {
	if len(tokens) > 0 && (tokens[0].is("DISTINCT") || tokens[0].is("ALL")) {
		tokens = tokens[1:]
	}
	if len(tokens) < 2 || !tokens[0].is("TOP") {
		return false
	}
	number := tokens[1:]
	if bracketed := number[0].is("("); bracketed {
		number = number[1:]
	}
	n, rest, ok := count(number)
	if ok && tokens[1].is("(") {
		if ok = len(rest) > 0 && rest[0].is(")"); ok {
			rest = rest[1:]
		}
	}
	return ok && n <= most && len(rest) > 0 && !rest[0].is("PERCENT") && !rest[0].is("WITH") && !rest[0].is(",") && !rest[0].is("FROM")
}

// count reads a plain number.
func count(tokens []sqlToken) (uint64, []sqlToken, bool) {
	if len(tokens) == 0 || tokens[0].kind != sqlNumber {
		return 0, nil, false
	}
	n, err := strconv.ParseUint(tokens[0].text, 10, 64)
	return n, tokens[1:], err == nil
}

// Functions that make one row of many, and those that make one value.
var (
	aggregates = []string{"AVG", "BOOL_AND", "BOOL_OR", "COUNT", "MAX", "MIN", "STDDEV", "SUM", "TOTAL", "VARIANCE"}
	scalars    = []string{"CHANGES", "CURRENT_DATABASE", "CURRENT_SCHEMA", "DATABASE", "LAST_INSERT_ID", "LAST_INSERT_ROWID", "NOW", "SQLITE_VERSION", "USER", "VERSION"}
)

// oneRow says whether a SELECT answers with one row: it reads no table, or every column is an
// aggregate and nothing groups.
func oneRow(tokens []sqlToken) bool {
	columns, rest := tokens, []sqlToken(nil)
	depth := 0
	for i, t := range tokens {
		if depth += t.depth(); depth == 0 && t.is("FROM") {
			columns, rest = tokens[:i], tokens[i:]
			break
		}
	}
	if rest == nil {
		return plainColumns(columns)
	}
	depth = 0
	for _, t := range rest {
		if depth += t.depth(); depth == 0 && (t.is("GROUP") || t.is("INTO")) {
			return false
		}
	}
	return aggregateColumns(columns)
}

// plainColumns says whether columns without a table call nothing that could answer with many
// rows.
func plainColumns(columns []sqlToken) bool {
	for i, t := range columns {
		if !t.is("(") {
			continue
		}
		if i == 0 || columns[i-1].kind != sqlWord && columns[i-1].kind != sqlName {
			continue
		}
		if !slices.Contains(scalars, columns[i-1].text) {
			return false
		}
	}
	return !slices.ContainsFunc(columns, func(t sqlToken) bool { return t.is("SELECT") })
}

// aggregateColumns says whether each column is "aggregate(…) [AS name]".
func aggregateColumns(columns []sqlToken) bool {
	for len(columns) > 0 {
		if len(columns) < 3 || columns[0].kind != sqlWord || !slices.Contains(aggregates, columns[0].text) || !columns[1].is("(") {
			return false
		}
		end := 1 + closing(columns[1:])
		if end == 1 || (columns[0].is("MAX") || columns[0].is("MIN")) && severalArguments(columns[1:end]) {
			return false // max(a, b) of SQLite is a value for each row
		}
		columns = columns[end+1:]
		if len(columns) > 1 && columns[0].is("AS") {
			columns = columns[2:]
		} else if len(columns) > 0 && !columns[0].is(",") && columns[0].kind != sqlSymbol && !columns[0].is("OVER") && !columns[0].is("FILTER") {
			columns = columns[1:]
		}
		if len(columns) == 0 {
			return true
		}
		if !columns[0].is(",") {
			return false
		}
		columns = columns[1:]
	}
	return false
}

func severalArguments(call []sqlToken) bool {
	depth := 0
	for _, t := range call {
		if depth += t.depth(); depth == 1 && t.is(",") {
			return true
		}
	}
	return false
}
