"""Problems with one cardinality budget over many nodes."""
