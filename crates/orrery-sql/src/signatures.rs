//! The names and argument counts of all built-in functions (query-language: section 8).
//!
//! A name is looked up without regard to case, either with the underscores of its words or with
//! none at all (`STRING_TO_ARRAY`, `StringToArray`); a few functions have a second name.

/// The families of the reference, which is also how the implementations are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `COUNT` and its kind: they fold rows.
    Aggregate,
    /// Arrays and sets.
    Array,
    /// `IIF`, `CHOOSE`.
    Conditional,
    /// Date and time.
    DateTime,
    /// Full-text search, scores included.
    FullText,
    /// About the item itself.
    Item,
    /// Numbers, 64-bit integers included.
    Mathematical,
    /// GeoJSON.
    Spatial,
    /// Strings and conversions from and to them.
    String,
    /// `IS_…`
    TypeCheck,
    /// Vector search.
    Vector,
}

/// No upper bound of the argument count.
const MANY: u8 = u8::MAX;

struct Signature {
    name: &'static str,
    words: &'static str,
    family: Family,
    least: u8,
    most: u8,
}

macro_rules! built_ins {
    ($($variant:ident $name:literal $words:literal $family:ident $least:literal $most:expr;)*) => {
        /// A built-in function.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)] // the names are the service's
        pub enum BuiltIn { $($variant,)* }

        impl BuiltIn {
            /// Every function, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
        }

        const SIGNATURES: &[Signature] = &[$(Signature {
            name: $name,
            words: $words,
            family: Family::$family,
            least: $least,
            most: $most,
        },)*];
    };
}

built_ins! {
    // variant, name in messages, name with all its words apart, family, least, most
    Average "AVG" "AVG" Aggregate 1 1;
    Count "COUNT" "COUNT" Aggregate 1 1;
    CountIf "COUNTIF" "COUNT_IF" Aggregate 1 1;
    MakeList "MAKELIST" "MAKE_LIST" Aggregate 1 1;
    MakeSet "MAKESET" "MAKE_SET" Aggregate 1 1;
    Max "MAX" "MAX" Aggregate 1 1;
    Min "MIN" "MIN" Aggregate 1 1;
    Sum "SUM" "SUM" Aggregate 1 1;

    IsArray "IS_ARRAY" "IS_ARRAY" TypeCheck 1 1;
    IsBool "IS_BOOL" "IS_BOOL" TypeCheck 1 1;
    IsDateTime "IS_DATETIME" "IS_DATETIME" TypeCheck 1 1;
    IsDefined "IS_DEFINED" "IS_DEFINED" TypeCheck 1 1;
    IsFiniteNumber "IS_FINITE_NUMBER" "IS_FINITE_NUMBER" TypeCheck 1 1;
    IsInteger "IS_INTEGER" "IS_INTEGER" TypeCheck 1 1;
    IsNull "IS_NULL" "IS_NULL" TypeCheck 1 1;
    IsNumber "IS_NUMBER" "IS_NUMBER" TypeCheck 1 1;
    IsObject "IS_OBJECT" "IS_OBJECT" TypeCheck 1 1;
    IsPrimitive "IS_PRIMITIVE" "IS_PRIMITIVE" TypeCheck 1 1;
    IsString "IS_STRING" "IS_STRING" TypeCheck 1 1;

    Concat "CONCAT" "CONCAT" String 2 MANY;
    Contains "CONTAINS" "CONTAINS" String 2 3;
    ContainsAllCi "CONTAINS_ALL_CI" "CONTAINS_ALL_CI" String 2 MANY;
    ContainsAllCs "CONTAINS_ALL_CS" "CONTAINS_ALL_CS" String 2 MANY;
    ContainsAnyCi "CONTAINS_ANY_CI" "CONTAINS_ANY_CI" String 2 MANY;
    ContainsAnyCs "CONTAINS_ANY_CS" "CONTAINS_ANY_CS" String 2 MANY;
    EndsWith "ENDSWITH" "ENDS_WITH" String 2 3;
    IndexOf "INDEX_OF" "INDEX_OF" String 2 3;
    LastIndexOf "LASTINDEXOF" "LAST_INDEX_OF" String 2 3;
    LastSubstringAfter "LASTSUBSTRINGAFTER" "LAST_SUBSTRING_AFTER" String 2 2;
    LastSubstringBefore "LASTSUBSTRINGBEFORE" "LAST_SUBSTRING_BEFORE" String 2 2;
    Left "LEFT" "LEFT" String 2 2;
    Length "LENGTH" "LENGTH" String 1 1;
    Lower "LOWER" "LOWER" String 1 1;
    LTrim "LTRIM" "LTRIM" String 1 2;
    RegexExtract "REGEXEXTRACT" "REGEX_EXTRACT" String 2 4;
    RegexExtractAll "REGEXEXTRACTALL" "REGEX_EXTRACT_ALL" String 2 4;
    RegexMatch "REGEXMATCH" "REGEX_MATCH" String 2 3;
    Replace "REPLACE" "REPLACE" String 3 3;
    Replicate "REPLICATE" "REPLICATE" String 2 2;
    Reverse "REVERSE" "REVERSE" String 1 1;
    Right "RIGHT" "RIGHT" String 2 2;
    RTrim "RTRIM" "RTRIM" String 1 2;
    StartsWith "STARTSWITH" "STARTS_WITH" String 2 3;
    StringEquals "STRINGEQUALS" "STRING_EQUALS" String 2 3;
    StringJoin "STRINGJOIN" "STRING_JOIN" String 2 2;
    StringSplit "STRINGSPLIT" "STRING_SPLIT" String 2 2;
    StringToArray "STRINGTOARRAY" "STRING_TO_ARRAY" String 1 1;
    StringToBoolean "STRINGTOBOOLEAN" "STRING_TO_BOOLEAN" String 1 1;
    StringToNull "STRINGTONULL" "STRING_TO_NULL" String 1 1;
    StringToNumber "STRINGTONUMBER" "STRING_TO_NUMBER" String 1 1;
    StringToObject "STRINGTOOBJECT" "STRING_TO_OBJECT" String 1 1;
    Substring "SUBSTRING" "SUBSTRING" String 3 3;
    SubstringAfter "SUBSTRINGAFTER" "SUBSTRING_AFTER" String 2 2;
    SubstringBefore "SUBSTRINGBEFORE" "SUBSTRING_BEFORE" String 2 2;
    ToString "TOSTRING" "TO_STRING" String 1 1;
    Trim "TRIM" "TRIM" String 1 2;
    Upper "UPPER" "UPPER" String 1 1;

    Abs "ABS" "ABS" Mathematical 1 1;
    Acos "ACOS" "ACOS" Mathematical 1 1;
    Asin "ASIN" "ASIN" Mathematical 1 1;
    Atan "ATAN" "ATAN" Mathematical 1 1;
    Atn2 "ATN2" "ATN2" Mathematical 2 2;
    Ceiling "CEILING" "CEILING" Mathematical 1 1;
    Cos "COS" "COS" Mathematical 1 1;
    Cot "COT" "COT" Mathematical 1 1;
    Degrees "DEGREES" "DEGREES" Mathematical 1 1;
    Exp "EXP" "EXP" Mathematical 1 1;
    Floor "FLOOR" "FLOOR" Mathematical 1 1;
    Hash "HASH" "HASH" Mathematical 1 2;
    IntAdd "INTADD" "INT_ADD" Mathematical 2 2;
    IntBitAnd "INTBITAND" "INT_BIT_AND" Mathematical 2 2;
    IntBitLeftShift "INTBITLEFTSHIFT" "INT_BIT_LEFT_SHIFT" Mathematical 2 2;
    IntBitNot "INTBITNOT" "INT_BIT_NOT" Mathematical 1 1;
    IntBitOr "INTBITOR" "INT_BIT_OR" Mathematical 2 2;
    IntBitRightShift "INTBITRIGHTSHIFT" "INT_BIT_RIGHT_SHIFT" Mathematical 2 2;
    IntBitXor "INTBITXOR" "INT_BIT_XOR" Mathematical 2 2;
    IntDiv "INTDIV" "INT_DIV" Mathematical 2 2;
    IntMod "INTMOD" "INT_MOD" Mathematical 2 2;
    IntMul "INTMUL" "INT_MUL" Mathematical 2 2;
    IntSub "INTSUB" "INT_SUB" Mathematical 2 2;
    Log "LOG" "LOG" Mathematical 1 2;
    Log10 "LOG10" "LOG10" Mathematical 1 1;
    NumberBin "NUMBERBIN" "NUMBER_BIN" Mathematical 1 2;
    Pi "PI" "PI" Mathematical 0 0;
    Power "POWER" "POWER" Mathematical 2 2;
    Radians "RADIANS" "RADIANS" Mathematical 1 1;
    Rand "RAND" "RAND" Mathematical 0 0;
    Round "ROUND" "ROUND" Mathematical 1 1;
    Sign "SIGN" "SIGN" Mathematical 1 1;
    Sin "SIN" "SIN" Mathematical 1 1;
    Sqrt "SQRT" "SQRT" Mathematical 1 1;
    Square "SQUARE" "SQUARE" Mathematical 1 1;
    Tan "TAN" "TAN" Mathematical 1 1;
    Trunc "TRUNC" "TRUNC" Mathematical 1 1;

    ArrayAvg "ARRAY_AVG" "ARRAY_AVG" Array 1 1;
    ArrayConcat "ARRAY_CONCAT" "ARRAY_CONCAT" Array 2 MANY;
    ArrayContains "ARRAY_CONTAINS" "ARRAY_CONTAINS" Array 2 3;
    ArrayContainsAll "ARRAY_CONTAINS_ALL" "ARRAY_CONTAINS_ALL" Array 2 MANY;
    ArrayContainsAny "ARRAY_CONTAINS_ANY" "ARRAY_CONTAINS_ANY" Array 2 MANY;
    ArrayLength "ARRAY_LENGTH" "ARRAY_LENGTH" Array 1 1;
    ArrayMax "ARRAY_MAX" "ARRAY_MAX" Array 1 1;
    ArrayMedian "ARRAY_MEDIAN" "ARRAY_MEDIAN" Array 1 1;
    ArrayMin "ARRAY_MIN" "ARRAY_MIN" Array 1 1;
    ArraySlice "ARRAY_SLICE" "ARRAY_SLICE" Array 2 3;
    ArraySum "ARRAY_SUM" "ARRAY_SUM" Array 1 1;
    ObjectToArray "OBJECTTOARRAY" "OBJECT_TO_ARRAY" Array 1 3;
    SetDifference "SETDIFFERENCE" "SET_DIFFERENCE" Array 2 2;
    SetEqual "SETEQUAL" "SET_EQUAL" Array 2 2;
    SetIntersect "SETINTERSECT" "SET_INTERSECT" Array 2 2;
    SetUnion "SETUNION" "SET_UNION" Array 2 2;

    Choose "CHOOSE" "CHOOSE" Conditional 2 MANY;
    Iif "IIF" "IIF" Conditional 3 3;

    DocumentId "DOCUMENTID" "DOCUMENT_ID" Item 1 1;

    Ago "AGO" "AGO" DateTime 2 2;
    DateTimeAdd "DATETIMEADD" "DATETIME_ADD" DateTime 3 3;
    DateTimeBin "DATETIMEBIN" "DATETIME_BIN" DateTime 2 4;
    DateTimeDiff "DATETIMEDIFF" "DATETIME_DIFF" DateTime 3 3;
    DateTimeFormat "DATETIMEFORMAT" "DATETIME_FORMAT" DateTime 2 2;
    DateTimeFromParts "DATETIMEFROMPARTS" "DATETIME_FROM_PARTS" DateTime 3 7;
    DateTimePart "DATETIMEPART" "DATETIME_PART" DateTime 2 2;
    DateTimeToTicks "DATETIMETOTICKS" "DATETIME_TO_TICKS" DateTime 1 1;
    DateTimeToTimestamp "DATETIMETOTIMESTAMP" "DATETIME_TO_TIMESTAMP" DateTime 1 1;
    Day "DAY" "DAY" DateTime 1 1;
    GetCurrentDateTime "GETCURRENTDATETIME" "GET_CURRENT_DATETIME" DateTime 0 0;
    GetCurrentDateTimeStatic "GETCURRENTDATETIMESTATIC" "GET_CURRENT_DATETIME_STATIC" DateTime 0 0;
    GetCurrentTicks "GETCURRENTTICKS" "GET_CURRENT_TICKS" DateTime 0 0;
    GetCurrentTicksStatic "GETCURRENTTICKSSTATIC" "GET_CURRENT_TICKS_STATIC" DateTime 0 0;
    GetCurrentTimestamp "GETCURRENTTIMESTAMP" "GET_CURRENT_TIMESTAMP" DateTime 0 0;
    GetCurrentTimestampStatic "GETCURRENTTIMESTAMPSTATIC" "GET_CURRENT_TIMESTAMP_STATIC" DateTime 0 0;
    Month "MONTH" "MONTH" DateTime 1 1;
    Now "NOW" "NOW" DateTime 0 2;
    TicksToDateTime "TICKSTODATETIME" "TICKS_TO_DATETIME" DateTime 1 1;
    TimestampToDateTime "TIMESTAMPTODATETIME" "TIMESTAMP_TO_DATETIME" DateTime 1 1;
    Year "YEAR" "YEAR" DateTime 1 1;

    StArea "ST_AREA" "ST_AREA" Spatial 1 1;
    StDistance "ST_DISTANCE" "ST_DISTANCE" Spatial 2 2;
    StIntersects "ST_INTERSECTS" "ST_INTERSECTS" Spatial 2 2;
    StIsValid "ST_ISVALID" "ST_ISVALID" Spatial 1 1;
    StIsValidDetailed "ST_ISVALIDDETAILED" "ST_ISVALIDDETAILED" Spatial 1 1;
    StWithin "ST_WITHIN" "ST_WITHIN" Spatial 2 2;

    FullTextContains "FullTextContains" "FULLTEXT_CONTAINS" FullText 2 2;
    FullTextContainsAll "FullTextContainsAll" "FULLTEXT_CONTAINS_ALL" FullText 2 MANY;
    FullTextContainsAny "FullTextContainsAny" "FULLTEXT_CONTAINS_ANY" FullText 2 MANY;
    FullTextScore "FullTextScore" "FULLTEXT_SCORE" FullText 2 MANY;
    Rrf "RRF" "RRF" FullText 1 MANY;
    // What the planner writes into the component queries of a hybrid search (protocol: 8.7).
    ComponentFullTextScore "_FullTextScore" "_FULLTEXTSCORE" FullText 5 5;
    ComponentFullTextWordCount "_FullTextWordCount" "_FULLTEXTWORDCOUNT" FullText 1 1;

    VectorDistance "VectorDistance" "VECTOR_DISTANCE" Vector 2 4;
}

/// Second names.
const ALIASES: &[(&str, BuiltIn)] = &[
    ("INTMULTIPLY", BuiltIn::IntMul),
    ("INT_MULTIPLY", BuiltIn::IntMul),
    ("IS_BOOLEAN", BuiltIn::IsBool),
];

impl BuiltIn {
    /// The function of this name, written in any of its forms.
    pub fn lookup(name: &str) -> Option<Self> {
        let found = Self::ALL
            .iter()
            .zip(SIGNATURES)
            .find(|(_, signature)| matches_words(name, signature.words));
        match found {
            Some((built_in, _)) => Some(*built_in),
            None => ALIASES
                .iter()
                .find(|(alias, _)| alias.eq_ignore_ascii_case(name))
                .map(|(_, built_in)| *built_in),
        }
    }

    fn signature(self) -> &'static Signature {
        &SIGNATURES[self as usize]
    }

    /// The name that messages use.
    pub fn name(self) -> &'static str {
        self.signature().name
    }

    /// The family it belongs to.
    pub fn family(self) -> Family {
        self.signature().family
    }

    /// True for `COUNT` and its kind.
    pub fn is_aggregate(self) -> bool {
        self.family() == Family::Aggregate
    }

    /// What the service says of a wrong number of arguments; `None` when the number is right.
    pub fn argument_error(self, count: usize) -> Option<String> {
        let Signature {
            name, least, most, ..
        } = *self.signature();
        if count >= usize::from(least) && (most == MANY || count <= usize::from(most)) {
            return None;
        }
        let wanted = match (least, most) {
            (least, MANY) => format!("at least {least}"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        Some(format!(
            "The {name} function requires {wanted} argument(s)."
        ))
    }
}

/// True when `name` is `words`, or `words` without its inner underscores, in any case.
fn matches_words(name: &str, words: &str) -> bool {
    if name.len() == words.len() {
        return name.eq_ignore_ascii_case(words);
    }
    if name.len() > words.len() {
        return false;
    }
    let mut letters = name.bytes();
    let squashed = words
        .bytes()
        .enumerate()
        .filter(|(place, byte)| *place == 0 || *byte != b'_');
    for (_, byte) in squashed {
        if letters
            .next()
            .is_none_or(|letter| !letter.eq_ignore_ascii_case(&byte))
        {
            return false;
        }
    }
    letters.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ignore_case_and_word_underscores() {
        assert_eq!(
            BuiltIn::lookup("StringToArray"),
            Some(BuiltIn::StringToArray)
        );
        assert_eq!(
            BuiltIn::lookup("string_to_array"),
            Some(BuiltIn::StringToArray)
        );
        assert_eq!(BuiltIn::lookup("INDEXOF"), Some(BuiltIn::IndexOf));
        assert_eq!(
            BuiltIn::lookup("ContainsAnyCI"),
            Some(BuiltIn::ContainsAnyCi)
        );
        assert_eq!(BuiltIn::lookup("is_boolean"), Some(BuiltIn::IsBool));
        assert_eq!(
            BuiltIn::lookup("_FullTextScore"),
            Some(BuiltIn::ComponentFullTextScore)
        );
        assert_eq!(
            BuiltIn::lookup("FullTextScore"),
            Some(BuiltIn::FullTextScore)
        );
        assert_eq!(BuiltIn::lookup("L_O_G"), None);
        assert_eq!(BuiltIn::lookup(""), None);
        assert_eq!(BuiltIn::lookup("STDEV"), None);
    }

    #[test]
    fn every_name_finds_its_own_function() {
        for built_in in BuiltIn::ALL {
            assert_eq!(BuiltIn::lookup(built_in.name()), Some(*built_in));
        }
    }

    #[test]
    fn argument_counts_are_explained() {
        assert_eq!(BuiltIn::Abs.argument_error(1), None);
        assert_eq!(BuiltIn::Concat.argument_error(300), None);
        let error = BuiltIn::StartsWith.argument_error(4);
        assert_eq!(
            error.as_deref(),
            Some("The STARTSWITH function requires 2 to 3 argument(s).")
        );
        let error = BuiltIn::ArrayContainsAll.argument_error(1);
        assert_eq!(
            error.as_deref(),
            Some("The ARRAY_CONTAINS_ALL function requires at least 2 argument(s).")
        );
        let error = BuiltIn::Abs.argument_error(2);
        assert_eq!(
            error.as_deref(),
            Some("The ABS function requires 1 argument(s).")
        );
    }
}
