"""The multi-view data sets of the paper, and what can be had in place of two of them."""

from kedge.datasets.entry import Dataset, Home, PublicFile

CALTECH_VIEWS = ("gabor", "wavelet_moments", "centrist", "hog", "gist", "lbp")
CALTECH_WIDTHS = (48, 40, 254, 1984, 512, 928)
NUS_VIEWS = ("colour_histogram", "colour_moments", "colour_correlogram", "edge_direction", "wavelet_texture")

MULTI_VIEW_SETS = (
    Dataset(
        name="caltech101-7",
        title="Caltech101, seven classes, features of Li et al.",
        status="not available here",
        n_rows=1474,
        widths=CALTECH_WIDTHS,
        n_clusters=7,
        licence="CC BY 4.0 for the images",
        source="Y. Li, F. Nie, H. Huang, J. Huang (AAAI 2015), from Caltech-101 of L. Fei-Fei, R. Fergus, P. Perona",
        public_home="https://data.caltech.edu/records/mzrjq-6wc02 (images); Caltech101-7.mat is in many repositories",
        description="Six descriptors of 1474 images: Faces, Motorbikes, dollar_bill, garfield, snoopy, stop_sign and "
        "windsor_chair.",
        file_name="caltech101_7_6view.npz",
        view_names=CALTECH_VIEWS,
        homes=(Home((PublicFile("Caltech101-7.mat"),), "matlab"),),
        stand_in="caltech101-7-reextracted",
        why_not="no copy of the feature file with a fixed address is known",
    ),
    Dataset(
        name="caltech101-7-reextracted",
        title="Caltech101, seven classes, features computed anew",
        status="re-extracted",
        n_rows=1474,
        widths=CALTECH_WIDTHS,
        n_clusters=7,
        licence="CC BY 4.0",
        source="features made for kedge from the images of L. Fei-Fei, R. Fergus, P. Perona: Caltech-101",
        public_home="https://data.caltech.edu/records/mzrjq-6wc02 (images)",
        description="The images, classes, kinds and widths of descriptors of caltech101-7, with values of our own: "
        "scores compare in kind, not digit for digit.",
        file_name="caltech101_7_reextracted_6view.npz",
        view_names=CALTECH_VIEWS,
        digest="d63c5fe862936173eb9f4ff47dd74d12ebaac855f05b2f78080ad599ad308127",
        why_not="the features were made for kedge and are not published on their own",
    ),
    Dataset(
        name="citeseer",
        title="Citeseer, words and citations",
        status="exact",
        n_rows=3312,
        widths=(3703, 3312),
        n_clusters=6,
        licence="none stated; distributed for research by LINQS",
        source="P. Sen et al.: Collective classification in network data (2008), in the two views of C. Grimal; file "
        "of zskong/Multi-view-data",
        public_home="https://github.com/zskong/Multi-view-data",
        description="Papers by the words they hold (0/1) and the papers they are linked to (0, 1, 2, symmetric); the "
        "classes are Agents, IR, DB, AI, HCI and ML.",
        file_name="citeseer_2view.npz",
        view_names=("content", "citation"),
        most_stored=(105_165, 9_196),
        digest="d569df124a79b9dc04fa6d240bb8cd115b7cf847d8beff3d6ccf0e83eb253c3f",
        homes=(
            Home(
                (
                    PublicFile(
                        "CiteSeer.mat",
                        (
                            "https://raw.githubusercontent.com/zskong/Multi-view-data/"
                            "bf9424daf30e27c57d6c46c5d18f3dade77fbed5/data/CiteSeer.mat",
                        ),
                    ),
                ),
                "matlab",
            ),
        ),
    ),
    Dataset(
        name="nus",
        title="NUS-WIDE-Object",
        status="not available here",
        n_rows=30000,
        widths=(65, 226, 145, 74, 129),
        n_clusters=31,
        licence="research use",
        source="T.-S. Chua et al.: NUS-WIDE (CIVR 2009)",
        public_home="https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html",
        description="Five colour and texture descriptors of 30000 images of 31 kinds of objects, as in the file "
        "NUSWIDEOBJ.mat that many papers share.",
        file_name="nus_5view.npz",
        view_names=NUS_VIEWS,
        homes=(Home((PublicFile("NUSWIDEOBJ.mat"),), "matlab"),),
        stand_in="nus-standin",
        why_not="no copy of the feature file with a fixed address is known",
    ),
    Dataset(
        name="nus-standin",
        title="Tiny ImageNet in 31 classes, features as in NUS-WIDE",
        status="stand-in",
        n_rows=30000,
        widths=(64, 225, 144, 73, 128),
        n_clusters=31,
        licence="features of images for non-commercial research (ImageNet)",
        source="features made for kedge from Tiny ImageNet (Stanford CS231n)",
        public_home="http://cs231n.stanford.edu/tiny-imagenet-200.zip (images)",
        description="Other images than NUS-WIDE, in as many rows and classes, with descriptors of the same kinds: for "
        "running times and for hard data, never to be reported as NUS.",
        file_name="nus_standin_tinyimagenet31_5view.npz",
        view_names=NUS_VIEWS,
        digest="e1f4e0a19f498dbba8a9799d2d546eba5e1741b4972482e7360eea95b6bb62d7",
        why_not="the features were made for kedge and are not published on their own",
    ),
)
