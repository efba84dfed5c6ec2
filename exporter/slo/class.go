package slo

// ClassBy is what requests are sorted into classes by.
type ClassBy string

// What classes can be told by.
const (
	ByPromptTokens ClassBy = "prompt_tokens"
	ByOutputTokens ClassBy = "output_tokens"
	ByAttribute    ClassBy = "attribute"
)

// ClassOther is the class of requests that no class of the list takes.
const ClassOther = "other"

// Classes sorts the requests of an objective into a closed list of kinds, each with clauses of its own. The zero value
// has none: all requests are of one kind.
type Classes struct {
	By        ClassBy
	Attribute string  // the key, for ByAttribute
	List      []Class // in the order in which they are tried; the last may be ClassOther
}

// Class is one kind of request.
type Class struct {
	Name    string
	AtMost  int      // tokens, for the token counts; 0: any number
	Values  []string // for ByAttribute
	Clauses []Clause // in the order of the families
}
